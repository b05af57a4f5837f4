/** Lets the kernel find the events of instructions and read their values into columns. */
import { elementAt } from '@sluice/base/element-at';
import type { DecodedLayout } from '@sluice/decode/decoded-layout';
import type { SimpleEvent } from '@sluice/decode/simple-event';
import { TypedRows } from '@sluice/decode/typed-rows';
import { EVENTS_OF_HOST, OP_I64, OP_KEY, OP_U64 } from '@sluice/kernels/layout/decoding';
import type { RowLists } from './arrow/batch-memory.ts';
import type { SimpleMemory } from './read-simple-rows.ts';

/** A layout with the id of the key of its program in a segment. */
export interface ProgramEvent extends SimpleEvent {
  readonly program: number;
}

interface EventRows {
  readonly lists: RowLists;
  /** There are no more events than this. */
  readonly countMax: number;
}

/** The base58 text of 32 bytes is no longer than this. */
const keyTextMax = 44;

/** Returns undefined if the host must read the events. */
export function readSimpleEvents(
  memory: SimpleMemory,
  { lists: { rows, transactions, count }, countMax }: EventRows,
  event: ProgramEvent,
  decoded: DecodedLayout,
): TypedRows | undefined {
  const { kernel, scratch, table } = memory;
  const [positions, indexes] = [scratch.reserve(countMax * 4), scratch.reserve(countMax * 4)];
  const columns = event.values.map(({ op }) => reserveColumn(memory, op, countMax));
  const accounts = decoded.columns.accounts.map(() => scratch.reserve(countMax * 4));
  const place = (tag: Uint8Array) => {
    const at = scratch.reserve(tag.length);
    kernel.bytes.set(tag, at);
    return at;
  };
  const { tag, bytesMin, values, callers, program } = event;
  // In the order of `layout/decoding.ts`.
  const words = [
    ...[program, bytesMin, place(tag), tag.length, values.length, accounts.length],
    ...[positions, indexes, callers.length],
    ...values.flatMap(({ offset, op }, i) => {
      const { at, texts } = elementAt(columns, i);
      return [offset, op, at, texts];
    }),
    ...accounts,
    ...callers.flatMap((caller) => [
      ...[place(caller.tag), caller.tag.length, caller.bytesMin],
      ...caller.accounts,
    ]),
  ];
  const at = scratch.reserve(words.length * 4);
  kernel.ints.set(words, at / 4);
  const found = kernel.exports.readTypedEvents(table, at, rows, transactions, count);
  if (found === EVENTS_OF_HOST) return undefined;
  const typed = new TypedRows(decoded, found);
  const copy = (to: Uint32Array | Int32Array | undefined, from: number) =>
    to?.set(kernel.ints.subarray(from / 4, from / 4 + to.length));
  copy(typed.positions, positions);
  copy(typed.indexes.ints, indexes);
  for (const [i, list] of typed.accounts.entries()) copy(list, elementAt(accounts, i));
  for (const [i, buffer] of typed.buffers.entries()) {
    const { at: column, texts } = elementAt(columns, i);
    if (texts === 0) copy(buffer.longs.length > 0 ? buffer.longs : buffer.ints, column);
    else {
      const end = texts + (kernel.ints[column / 4 + found] ?? 0);
      const starts = kernel.bytes.slice(column, column + (found + 1) * 4);
      buffer.written = [starts, kernel.bytes.slice(texts, end)];
    }
  }
  return typed;
}

/** Reserves memory for the values of a column, or for the starts of its texts and the texts. */
function reserveColumn(
  { kernel, scratch }: SimpleMemory,
  op: number,
  countMax: number,
): { readonly at: number; readonly texts: number } {
  if (op !== OP_KEY)
    return { at: scratch.reserve(countMax * (op === OP_U64 || op === OP_I64 ? 8 : 4)), texts: 0 };
  const at = scratch.reserve((countMax + 1) * 4);
  kernel.ints[at / 4] = 0;
  return { at, texts: scratch.reserve(countMax * keyTextMax) };
}
