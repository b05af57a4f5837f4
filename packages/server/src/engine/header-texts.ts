import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { BlockHeader } from '../ledger/block.ts';
import type { Selection } from '../query/query.ts';
import type { Segment } from '../segment/read/open-segment.ts';

/** The JSON headers of a segment's blocks as one text, and the position where each starts. */
export interface HeaderTexts {
  readonly bytes: Uint8Array;
  /** One entry per block, and one for the end. */
  readonly starts: Uint32Array;
}

type HeaderField = Selection['fields']['block'][number];

const encoder = new TextEncoder();

/** Headers are few and small, so they are written in JavaScript, once per segment and list of fields. */
export function buildHeaderTexts(
  segment: Segment,
  fields: Selection['fields']['block'],
): HeaderTexts {
  const starts = new Uint32Array(segment.blockCount + 1);
  let text = '';
  for (let block = 0; block < segment.blockCount; block++) {
    // All of it is ASCII, so characters are bytes.
    starts[block] = text.length;
    text += '{';
    let comma = '';
    for (const name of fields) {
      text += `${comma}"${name}":${headerValue(segment, block, name)}`;
      comma = ',';
    }
    text += '}';
  }
  starts[segment.blockCount] = text.length;
  return { bytes: encoder.encode(text), starts };
}

function jsonText(text: string | null): string {
  return text === null ? 'null' : `"${text}"`;
}

function headerValue(segment: Segment, block: number, name: HeaderField): string {
  const { headers } = segment;
  switch (name) {
    case 'number':
      return String(headers.numberAt(block));
    case 'hash':
      return `"${headers.hashAt(block)}"`;
    case 'parentSlot':
    case 'parentNumber':
      return String(headers.parentSlotAt(block));
    case 'parentHash':
      return jsonText(parentHashOnWire(headers.at(block)));
    case 'height':
      return String(headers.heightAt(block));
    case 'timestamp':
      return String(headers.timestampAt(block));
    // The finalized head is known only to the stream, which replaces this null.
    case 'finalizedHead':
      return 'null';
    case 'recordCounts': {
      const counts = segment.countsAt(block);
      return `{${RECORD_ARRAY_NAMES.map((array) => `"${array}":${counts[array]}`).join()}}`;
    }
  }
}

/** What a node reports as the parent hash of slot 0, which has no parent: 32 zero bytes in base58. */
const genesisParentHash = '1'.repeat(32);

/**
 * The parent hash of a block as a client reads it. Slot 0 gets the value that a node reports, because clients of this
 * protocol family require a text there. Elsewhere an unknown hash is null.
 */
export function parentHashOnWire({
  number,
  parentHash,
}: Pick<BlockHeader, 'number' | 'parentHash'>): string | null {
  return number === 0 ? genesisParentHash : parentHash;
}
