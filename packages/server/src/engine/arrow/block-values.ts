/** Columns with values of the blocks of the rows of a record batch. The rows of one block follow each other. */
import type { ColumnData } from '@sluice/arrow/arrow-type';
import { assert } from '@sluice/base/assert';
import { decodeBase58 } from '@sluice/base/base58';
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { BlockHeaders } from '../../segment/read/block-table.ts';
import type { Segment } from '../../segment/read/open-segment.ts';
import { parentHashOnWire } from '../header-texts.ts';

/** Returns the memory of a column. It is called when the keys of all columns are known, and reserves no memory of the kernel. */
export type Pending = () => ColumnData;

export const keyByteCount = 32;

export interface BlockValuesOptions {
  readonly segment: Segment;
  /** The blocks by their number in the segment, each with the end of its rows. */
  readonly runs: readonly { readonly block: number; readonly end: number }[];
  /** Whether hashes are bytes and not indexes of the dictionary. */
  readonly isBinary: boolean;
  /** Returns the number of keys in the dictionary, which come before the hashes of blocks. */
  readonly keyCount: () => number;
}

/** The rows of a batch. */
export interface RowLists {
  /** The addresses of two lists: the row of each record in its columns, and its transaction. */
  readonly rows: number;
  readonly transactions: number;
  readonly count: number;
  readonly runs: BlockValuesOptions['runs'];
}

export class BlockValues {
  /** Hashes with their index among the hashes of the dictionary. */
  readonly texts = new Map<string, number>();
  readonly #options: BlockValuesOptions;
  readonly #count: number;

  constructor(options: BlockValuesOptions) {
    this.#options = options;
    this.#count = options.runs.at(-1)?.end ?? 0;
  }

  /** A value of 64 bits of each row's block. */
  longs(valueIn: (headers: BlockHeaders, block: number) => number | bigint | null): Pending {
    const out = new BigInt64Array(this.#count);
    const valid = allValid(this.#count);
    let nulls = 0;
    let start = 0;
    for (const { block, end } of this.#options.runs) {
      const value = valueIn(this.#options.segment.headers, block);
      if (value !== null) out.fill(BigInt(value), start, end);
      else nulls += clearBits(valid, start, end);
      start = end;
    }
    const buffers = [nulls === 0 ? noBytes : valid, new Uint8Array(out.buffer)];
    return () => ({ length: this.#count, nullCount: nulls, buffers, children: [] });
  }

  parentHashes(): Pending {
    return this.hashes((headers, block) =>
      parentHashOnWire({
        number: headers.numberAt(block),
        parentHash: headers.parentHashAt(block),
      }),
    );
  }

  /** A hash of each row's block. */
  hashes(textOf: (headers: BlockHeaders, block: number) => string | null): Pending {
    const { headers } = this.#options.segment;
    const texts = this.#options.runs.map(({ block }) => textOf(headers, block));
    for (const text of texts)
      if (text !== null && !this.texts.has(text)) this.texts.set(text, this.texts.size);
    return () => this.#hashColumn(texts);
  }

  #hashColumn(texts: readonly (string | null)[]): ColumnData {
    const { isBinary } = this.#options;
    const indexes = new Int32Array(this.#count);
    const keys = Buffer.alloc(isBinary ? this.#count * keyByteCount : 0);
    const valid = allValid(this.#count);
    const firstIndex = this.#options.keyCount();
    let nullCount = 0;
    let start = 0;
    for (const [i, { end }] of this.#options.runs.entries()) {
      const text = texts[i] ?? null;
      if (text === null) nullCount += clearBits(valid, start, end);
      else if (isBinary) keys.fill(decodeKey(text), start * keyByteCount, end * keyByteCount);
      else indexes.fill(firstIndex + (this.texts.get(text) ?? 0), start, end);
      start = end;
    }
    const values = isBinary ? keys : new Uint8Array(indexes.buffer);
    const buffers = [nullCount === 0 ? noBytes : valid, values];
    return { length: this.#count, nullCount, buffers, children: [] };
  }

  recordCounts(): readonly Pending[] {
    const { segment } = this.#options;
    return RECORD_ARRAY_NAMES.map((array) =>
      this.longs((_, block) => segment.countsAt(block)[array]),
    );
  }
}

const noBytes = new Uint8Array(0);

const allValid = (count: number) => new Uint8Array(Math.ceil(count / 8)).fill(0xff);

/** Clears the bits from `start` up to `end`. Returns their number. */
function clearBits(bits: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) bits[i >> 3] = (bits[i >> 3] ?? 0) & ~(1 << (i & 7));
  return end - start;
}

/** Returns the 32 bytes of a key or hash. */
function decodeKey(text: string): Uint8Array {
  const key = decodeBase58(text);
  assert(key !== undefined, 'the text of a key is base58');
  return key;
}

/** Returns keys of 32 bytes each. A key whose text was needed before is in memory only as a text. */
export function readKeyBytes(
  ids: readonly number[],
  addressOf: (id: number) => number,
  bytes: Uint8Array,
): Uint8Array {
  // At least one key, because a null refers to the first one.
  const keys = new Uint8Array(Math.max(ids.length, 1) * keyByteCount);
  for (const [i, id] of ids.entries()) {
    const at = addressOf(id);
    const length = bytes[at + KEY_TEXT_BYTES - 1] ?? 0;
    const key =
      length === 0
        ? bytes.subarray(at, at + keyByteCount)
        : decodeKey(Buffer.from(bytes.subarray(at + 1, at + length - 1)).toString('latin1'));
    keys.set(key, i * keyByteCount);
  }
  return keys;
}

/** Returns a column of texts with further ones at its end. */
export function appendTexts(
  starts: Uint32Array,
  bytes: Uint8Array,
  added: readonly string[],
): ColumnData {
  const allStarts = new Int32Array(starts.length + added.length);
  allStarts.set(starts);
  for (const [i, text] of added.entries())
    allStarts[starts.length + i] = (allStarts[starts.length + i - 1] ?? 0) + text.length;
  const buffers = [
    new Uint8Array(0),
    new Uint8Array(allStarts.buffer),
    Buffer.concat([bytes, Buffer.from(added.join(''))]),
  ];
  return { length: allStarts.length - 1, nullCount: 0, buffers, children: [] };
}
