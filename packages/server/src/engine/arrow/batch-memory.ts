/** The kernel's memory for one record batch, and the columns that its parts become. */
import type { ColumnData } from '@sluice/arrow/arrow-type';
import type { EngineExports } from '@sluice/kernels/engine-exports';
import type { EngineKernel } from '../engine-kernel.ts';
import type { Scratch } from '../scratch.ts';

/** The rows of a record batch. */
export interface RowLists {
  /** The addresses of two lists: the row of each record in its columns, and its transaction. */
  readonly rows: number;
  readonly transactions: number;
  readonly count: number;
  /** The blocks by their number in the segment, each with the end of its rows. */
  readonly runs: readonly { readonly block: number; readonly end: number }[];
}

/** Returns the memory of a column. It is called when the keys of all columns are known, and reserves no memory of the kernel. */
export type Pending = () => ColumnData;

export interface Range {
  readonly at: number;
  readonly length: number;
}

export const noRange: Range = { at: 0, length: 0 };
const noBytes = new Uint8Array(0);

export class BatchMemory {
  readonly kernel: EngineKernel;
  readonly exports: EngineExports;
  readonly lists: RowLists;
  readonly #scratch: Scratch;

  constructor(kernel: EngineKernel, scratch: Scratch, lists: RowLists) {
    this.kernel = kernel;
    this.exports = kernel.exports;
    this.lists = lists;
    this.#scratch = scratch;
  }

  reserve(length: number): Range {
    return { at: this.#scratch.reserve(length), length };
  }

  reserveZeroed(length: number): Range {
    return { at: this.#scratch.reserveZeroed(length), length };
  }

  starts(count = this.lists.count): Range {
    return this.reserve((count + 1) * 4);
  }

  /** Reserves Arrow's validity bits: one for each row, set if its value is not null. All are set at first. */
  validity(): Range {
    const range = this.reserve(Math.ceil(this.lists.count / 8));
    this.kernel.bytes.fill(0xff, range.at, range.at + range.length);
    return range;
  }

  /** Returns a part of the memory, until more is reserved. */
  view({ at, length }: Range): Uint8Array {
    return this.kernel.bytes.subarray(at, at + length);
  }

  /** Returns a value of a column or list of 32-bit integers. */
  int(address: number, i: number): number {
    return this.kernel.ints[address / 4 + i] ?? 0;
  }

  data(
    length: number,
    nullCount: number,
    [valid, ...rest]: readonly [Range, ...Range[]],
  ): ColumnData {
    const buffers = [
      nullCount === 0 ? noBytes : this.view(valid),
      ...rest.map((r) => this.view(r)),
    ];
    return { length, nullCount, buffers, children: [] };
  }

  flat(nulls: number, valid: Range, out: Range): ColumnData {
    return this.data(this.lists.count, nulls, [valid, out]);
  }

  /** Returns a column of texts. The last of the starts is the number of bytes that the texts have. */
  texts(nulls: number, valid: Range, starts: Range, { at }: Range): ColumnData {
    const { count } = this.lists;
    const used = { at, length: this.int(starts.at, count) };
    return this.data(count, nulls, [valid, starts, used]);
  }

  list(count: number, starts: Range, child: ColumnData): ColumnData {
    return { ...this.data(count, 0, [noRange, starts]), children: [child] };
  }
}
