/** Lets the kernel read the values of instructions with a simple layout into columns. */
import { elementAt } from '@sluice/base/element-at';
import type { SimpleLayout } from '@sluice/decode/simple-layout';
import type { TypedRows } from '@sluice/decode/typed-rows';
import type { RowLists } from './arrow/batch-memory.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { Scratch } from './scratch.ts';

/** A layout with the id of the key of its program in a segment. */
export interface ProgramLayout extends SimpleLayout {
  readonly program: number;
}

export interface SimpleMemory {
  readonly kernel: EngineKernel;
  readonly scratch: Scratch;
  /** The table of the decoder, whose columns are loaded. */
  readonly table: number;
}

/** Returns a byte for each row, which is 1 if the row was read. */
export function readSimpleRows(
  { kernel, scratch, table }: SimpleMemory,
  { rows, transactions, count }: RowLists,
  { program, tag, bytesMin, values, accounts }: ProgramLayout,
  { buffers, accounts: numbers }: TypedRows,
): Uint8Array {
  const tagAt = scratch.reserve(tag.length);
  const isRead = scratch.reserveZeroed(count);
  const columns = buffers.map(({ ints, longs }) => (longs.length > 0 ? longs : ints));
  const columnsAt = columns.map(({ byteLength }) => scratch.reserveZeroed(byteLength));
  const numbersAt = numbers.map(({ byteLength }) => scratch.reserve(byteLength));
  // In the order of `layout/decoding.ts`.
  const words = [
    ...[program, bytesMin, tagAt, tag.length, values.length, accounts.length],
    ...values.flatMap(({ offset, op }, i) => [offset, op, elementAt(columnsAt, i)]),
    ...accounts.flatMap((number, i) => [number, elementAt(numbersAt, i)]),
  ];
  const at = scratch.reserve(words.length * 4);
  kernel.bytes.set(tag, tagAt);
  kernel.ints.set(words, at / 4);
  // Rows that are not read have no account.
  for (const from of numbersAt) kernel.bytes.fill(0xff, from, from + count * 4);
  kernel.exports.readTypedRows(table, at, rows, transactions, count, isRead);
  const copy = (to: Uint32Array | Int32Array, from: number) =>
    to.set(kernel.ints.subarray(from / 4, from / 4 + to.length));
  for (const [i, column] of columns.entries()) copy(column, elementAt(columnsAt, i));
  for (const [i, list] of numbers.entries()) copy(list, elementAt(numbersAt, i));
  return kernel.bytes.slice(isRead, isRead + count);
}
