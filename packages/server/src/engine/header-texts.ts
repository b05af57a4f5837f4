import { HEADER_ENTRY_BYTES, HEADER_LENGTH } from '@sluice/kernels/layout/writing';
import type { BlockHeader } from '@sluice/ledger/block';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { Selection } from '../query/query.ts';
import type { Segment } from '../segment/read/open-segment.ts';
import type { EngineKernel } from './engine-kernel.ts';

type HeaderFields = Selection['fields']['block'];
type HeaderField = HeaderFields[number];

const encoder = new TextEncoder();

/**
 * The JSON headers of a segment's blocks in the kernel's memory, for one list of fields. Headers are few and small, so they are written in
 * JavaScript, when a line needs them: a sparse query writes few lines of a segment.
 */
export class HeaderTexts {
  /** How many runs read them. */
  users = 0;
  readonly tableAt: number;
  readonly #segment: Segment;
  readonly #fields: HeaderFields;
  readonly #kernel: EngineKernel;
  readonly #texts: number[] = [];
  #byteLength: number;

  constructor(segment: Segment, fields: HeaderFields, kernel: EngineKernel) {
    this.#segment = segment;
    this.#fields = fields;
    this.#kernel = kernel;
    const byteCount = Math.max(segment.blockCount, 1) * HEADER_ENTRY_BYTES;
    this.tableAt = kernel.allocate(byteCount);
    kernel.bytes.fill(0, this.tableAt, this.tableAt + byteCount);
    this.#byteLength = byteCount;
  }

  /** The memory of the table and of the texts that were loaded. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** Loads the texts of some blocks, by their numbers in the segment, up to the first that is in memory. */
  load(from: number, to: number): void {
    const kernel = this.#kernel;
    const lengths: number[] = [];
    let text = '';
    for (let block = from; block < to && kernel.ints[this.#entryOf(block)] === 0; block++) {
      const header = this.#write(block);
      // All of it is ASCII, so characters are bytes.
      lengths.push(header.length);
      text += header;
    }
    let at = kernel.allocate(text.length);
    this.#texts.push(at);
    this.#byteLength += text.length;
    encoder.encodeInto(text, kernel.bytes.subarray(at, at + text.length));
    lengths.forEach((length, i) => {
      const entry = this.#entryOf(from + i);
      kernel.ints[entry] = at;
      kernel.ints[entry + HEADER_LENGTH / 4] = length;
      at += length;
    });
  }

  bytesOf(block: number): Uint8Array {
    return encoder.encode(this.#write(block));
  }

  release(): void {
    for (const at of [this.tableAt, ...this.#texts]) this.#kernel.release(at);
  }

  /** Returns the index in `kernel.ints` at which the table has the entry of a block. */
  #entryOf(block: number): number {
    return (this.tableAt + block * HEADER_ENTRY_BYTES) / 4;
  }

  #write(block: number): string {
    let text = '{';
    let comma = '';
    for (const name of this.#fields) {
      text += `${comma}"${name}":${headerValue(this.#segment, block, name)}`;
      comma = ',';
    }
    return `${text}}`;
  }
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
