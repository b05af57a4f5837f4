/** Columns with values of the blocks of the rows of a record batch. The rows of one block follow each other. */
import type { ColumnData } from '@sluice/arrow/arrow-type';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { BlockHeaders } from '../../segment/read/block-table.ts';
import type { Segment } from '../../segment/read/open-segment.ts';
import { parentHashOnWire } from '../header-texts.ts';
import type { BatchMemory, Pending, Range } from './batch-memory.ts';
import { decodeKey, keyByteCount } from './key-bytes.ts';

export interface BlockColumnsOptions {
  readonly segment: Segment;
  /** Whether hashes are bytes and not indexes of the dictionary. */
  readonly isBinary: boolean;
  /** Returns the index of the first hash in the dictionary, in which hashes come last. */
  readonly firstIndex: () => number;
}

export class BlockColumns {
  /** Hashes with their index among the hashes of the dictionary. */
  readonly texts = new Map<string, number>();
  readonly #memory: BatchMemory;
  readonly #options: BlockColumnsOptions;

  constructor(memory: BatchMemory, options: BlockColumnsOptions) {
    this.#memory = memory;
    this.#options = options;
  }

  /** Returns a column of 64-bit integers: for each row a value of its block. */
  longs(valueIn: (headers: BlockHeaders, block: number) => number | bigint | null): Pending {
    const { runs, count } = this.#memory.lists;
    const [out, valid] = [this.#memory.reserve(count * 8), this.#memory.validity()];
    const values = new BigInt64Array(this.#memory.kernel.bytes.buffer, out.at, count);
    let nulls = 0;
    let start = 0;
    for (const { block, end } of runs) {
      const value = valueIn(this.#options.segment.headers, block);
      values.fill(BigInt(value ?? 0), start, end);
      if (value === null) nulls += clearBits(this.#memory.view(valid), start, end);
      start = end;
    }
    return () => this.#memory.flat(nulls, valid, out);
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
    const { runs, count } = this.#memory.lists;
    const texts = runs.map(({ block }) => textOf(headers, block));
    for (const text of texts)
      if (text !== null && !this.texts.has(text)) this.texts.set(text, this.texts.size);
    const valueBytes = this.#options.isBinary ? keyByteCount : 4;
    const [out, valid] = [this.#memory.reserveZeroed(count * valueBytes), this.#memory.validity()];
    return () => this.#hashColumn(texts, out, valid);
  }

  #hashColumn(texts: readonly (string | null)[], out: Range, valid: Range): ColumnData {
    const { isBinary, firstIndex } = this.#options;
    const { ints, bytes } = this.#memory.kernel;
    const first = firstIndex();
    let nullCount = 0;
    let start = 0;
    for (const [i, { end }] of this.#memory.lists.runs.entries()) {
      const text = texts[i] ?? null;
      if (text === null) nullCount += clearBits(this.#memory.view(valid), start, end);
      else if (isBinary)
        Buffer.from(bytes.buffer, out.at, out.length).fill(
          decodeKey(text),
          start * keyByteCount,
          end * keyByteCount,
        );
      else ints.fill(first + (this.texts.get(text) ?? 0), out.at / 4 + start, out.at / 4 + end);
      start = end;
    }
    return this.#memory.flat(nullCount, valid, out);
  }

  recordCounts(): readonly Pending[] {
    const { segment } = this.#options;
    return RECORD_ARRAY_NAMES.map((array) =>
      this.longs((_, block) => segment.countsAt(block)[array]),
    );
  }
}

/** Clears the bits from `start` up to `end`. Returns their number. */
function clearBits(bits: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) bits[i >> 3] = (bits[i >> 3] ?? 0) & ~(1 << (i & 7));
  return end - start;
}
