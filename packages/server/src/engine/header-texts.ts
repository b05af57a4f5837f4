import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { elementAt } from '../base/element-at.ts';
import { parentHashOnWire } from '../ledger/parent-hash-on-wire.ts';
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
  const header = elementAt(segment.headers, block);
  switch (name) {
    case 'number':
      return String(header.number);
    case 'hash':
      return `"${header.hash}"`;
    case 'parentSlot':
    case 'parentNumber':
      return String(header.parentSlot);
    case 'parentHash':
      return jsonText(parentHashOnWire(header));
    case 'height':
      return String(header.height);
    case 'timestamp':
      return String(header.timestamp);
    // The finalized head is known only to the stream, which replaces this null.
    case 'finalizedHead':
      return 'null';
    case 'recordCounts': {
      const counts = elementAt(segment.counts, block);
      return `{${RECORD_ARRAY_NAMES.map((array) => `"${array}":${counts[array]}`).join()}}`;
    }
  }
}
