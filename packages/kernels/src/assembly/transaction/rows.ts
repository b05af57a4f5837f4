// Columns in memory to which transactions append their rows. The rows of a transaction that this kernel cannot read are removed again.
import {
  INS_ACCOUNTS, INS_DATA, LOG_TEXT, LOOKUP_INDEXES, LOOKUP_KEY, TRANSACTION_COLUMN_COUNT, TX_KEYS, TX_SIGNATURES,
} from '../../layout/columns';
import { copyShort } from '../common/copy';

/** For each column 16 bytes of addresses: its start, the end of its data, the end of the committed data, and its limit. */
const columns = memory.data(TRANSACTION_COLUMN_COUNT * 16, 16);
const fillOffset: usize = 4;
const settledOffset: usize = 8;
const limitOffset: usize = 12;

/** Whether a value did not fit since the start of the transaction. */
export let isFull: bool = false;

// @ts-ignore: decorator
@inline
function entryOf(column: i32): usize {
  return columns + ((<usize>column) << 4);
}

/** Returns the capacity of a column in bytes: enough for blocks several times as large as real ones. */
function capacityOf(column: i32): u32 {
  if (column == TX_KEYS || column == LOOKUP_INDEXES) return 1 << 20;
  if (column == TX_SIGNATURES) return 1 << 20;
  if (column == INS_ACCOUNTS || column == INS_DATA) return 4 << 20;
  if (column == LOG_TEXT) return 8 << 20;
  if (column < LOOKUP_KEY) return 64 << 10;
  return 512 << 10;
}

/** Places the columns from `base` on. Returns their end. */
export function locateColumns(base: usize): usize {
  let position = base;
  for (let column = 0; column < TRANSACTION_COLUMN_COUNT; column++) {
    const entry = entryOf(column);
    store<u32>(entry, <u32>position);
    position += capacityOf(column);
    store<u32>(entry, <u32>position, limitOffset);
  }
  return position;
}

export function emptyColumns(): void {
  for (let column = 0; column < TRANSACTION_COLUMN_COUNT; column++) {
    const entry = entryOf(column);
    store<u32>(entry, load<u32>(entry), fillOffset);
    store<u32>(entry, load<u32>(entry), settledOffset);
  }
}

/** Commits the rows that were appended since the last call. */
export function settleRows(): void {
  for (let column = 0; column < TRANSACTION_COLUMN_COUNT; column++) {
    const entry = entryOf(column);
    store<u32>(entry, load<u32>(entry, fillOffset), settledOffset);
  }
}

/** Removes the rows that are not committed. */
export function takeBackRows(): void {
  isFull = false;
  for (let column = 0; column < TRANSACTION_COLUMN_COUNT; column++) {
    const entry = entryOf(column);
    store<u32>(entry, load<u32>(entry, settledOffset), fillOffset);
  }
}

export function columnStart(column: i32): usize {
  return load<u32>(entryOf(column));
}

export function columnBytes(column: i32): u32 {
  const entry = entryOf(column);
  return load<u32>(entry, fillOffset) - load<u32>(entry);
}

// @ts-ignore: decorator
@inline
export function push(column: i32, value: u32): void {
  const entry = entryOf(column);
  const fill = load<u32>(entry, fillOffset);
  if (fill + 4 > load<u32>(entry, limitOffset)) {
    isFull = true;
    return;
  }
  store<u32>(fill, value);
  store<u32>(entry, fill + 4, fillOffset);
}

export function pushLong(column: i32, value: u64): void {
  const entry = entryOf(column);
  const fill = load<u32>(entry, fillOffset);
  if (fill + 8 > load<u32>(entry, limitOffset)) {
    isFull = true;
    return;
  }
  store<u64>(fill, value);
  store<u32>(entry, fill + 8, fillOffset);
}

export function pushBytes(column: i32, bytes: usize, length: u32): void {
  // Copied 16 bytes at a time, which may write beyond the end.
  const position = reserveBytes(column, length + 16);
  if (position == 0) return;
  copyShort(position, bytes, length);
  keepBytes(column, length);
}

/** Returns the address for the next `length` bytes, or 0 if they do not fit. */
export function reserveBytes(column: i32, length: u32): usize {
  const entry = entryOf(column);
  const fill = load<u32>(entry, fillOffset);
  if (fill + length <= load<u32>(entry, limitOffset)) return fill;
  isFull = true;
  return 0;
}

/** Appends the bytes that were written there. */
export function keepBytes(column: i32, length: u32): void {
  const entry = entryOf(column);
  store<u32>(entry, load<u32>(entry, fillOffset) + length, fillOffset);
}
