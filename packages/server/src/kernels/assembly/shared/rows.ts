// Columns in memory, to which transactions append their rows. A transaction that turns out to be none for this kernel takes
// its rows back. The numbers are those of `segment/columns.ts`.

export const TX_INDEX: i32 = 0;
export const TX_VERSION: i32 = 1;
export const TX_REQUIRED_SIGNATURES: i32 = 2;
export const TX_READONLY_SIGNED: i32 = 3;
export const TX_READONLY_UNSIGNED: i32 = 4;
export const TX_STATIC_COUNT: i32 = 5;
export const TX_WRITABLE_COUNT: i32 = 6;
export const TX_READONLY_COUNT: i32 = 7;
export const TX_OTHER_COUNT: i32 = 8;
export const TX_KEYS: i32 = 9;
export const TX_BLOCKHASH: i32 = 10;
export const TX_SIGNATURE_COUNT: i32 = 11;
export const TX_SIGNATURES: i32 = 12;
export const TX_ERR: i32 = 13;
export const TX_FEE: i32 = 14;
export const TX_FEE_NULL: i32 = 15;
export const TX_UNITS: i32 = 16;
export const TX_UNITS_NULL: i32 = 17;
export const TX_DROPPED: i32 = 18;
export const TX_LOOKUP_COUNT: i32 = 19;
export const TX_INSTRUCTION_COUNT: i32 = 20;
export const TX_LOG_COUNT: i32 = 21;
export const TX_BALANCE_COUNT: i32 = 22;
export const TX_TOKEN_BALANCE_COUNT: i32 = 23;
export const LOOKUP_KEY: i32 = 24;
export const LOOKUP_READONLY_COUNT: i32 = 25;
export const LOOKUP_WRITABLE_COUNT: i32 = 26;
export const LOOKUP_INDEXES: i32 = 27;
export const INS_DEPTH: i32 = 28;
export const INS_ODD: i32 = 29;
export const INS_ODD_STEPS: i32 = 30;
export const INS_PROGRAM: i32 = 31;
export const INS_ACCOUNT_COUNT: i32 = 32;
export const INS_ACCOUNTS: i32 = 33;
export const INS_DATA_LENGTH: i32 = 34;
export const INS_DATA: i32 = 35;
export const INS_ERROR: i32 = 36;
export const INS_UNITS: i32 = 37;
export const INS_UNITS_NULL: i32 = 38;
export const INS_FLAGS: i32 = 39;
export const LOG_INDEX: i32 = 40;
export const LOG_INSTRUCTION: i32 = 41;
export const LOG_PROGRAM: i32 = 42;
export const LOG_KIND: i32 = 43;
export const LOG_LENGTH: i32 = 44;
export const LOG_TEXT: i32 = 45;
export const BAL_ACCOUNT: i32 = 46;
export const BAL_PRE: i32 = 47;
export const BAL_CHANGE: i32 = 48;
export const TOK_ACCOUNT: i32 = 49;
export const TOK_PRE_MINT: i32 = 50;
export const TOK_POST_MINT: i32 = 51;
export const TOK_PRE_DECIMALS: i32 = 52;
export const TOK_POST_DECIMALS: i32 = 53;
export const TOK_PRE_PROGRAM: i32 = 54;
export const TOK_POST_PROGRAM: i32 = 55;
export const TOK_PRE_OWNER: i32 = 56;
export const TOK_POST_OWNER: i32 = 57;
export const TOK_AMOUNT_NULL: i32 = 58;
export const TOK_PRE_AMOUNT: i32 = 59;
export const TOK_CHANGE: i32 = 60;
export const COLUMN_COUNT: i32 = 61;

/** A column's start, the ends of what is filled and of what is settled, and its limit: addresses, 16 bytes a column. */
const columns = memory.data(COLUMN_COUNT * 16, 16);
const fillOffset: usize = 4;
const settledOffset: usize = 8;
const limitOffset: usize = 12;

/** Whether something did not fit since the last transaction began. */
export let isFull: bool = false;

// @ts-ignore: decorator
@inline
function entryOf(column: i32): usize {
  return columns + ((<usize>column) << 4);
}

/** Bytes for each column: room for blocks several times as large as real ones. */
function roomOf(column: i32): u32 {
  if (column == TX_KEYS || column == LOOKUP_INDEXES) return 1 << 20;
  if (column == TX_SIGNATURES) return 1 << 20;
  if (column == INS_ACCOUNTS || column == INS_DATA) return 4 << 20;
  if (column == LOG_TEXT) return 8 << 20;
  if (column < LOOKUP_KEY) return 64 << 10;
  return 512 << 10;
}

/** Places the columns from `base` on and answers where they end. */
export function placeColumns(base: usize): usize {
  let place = base;
  for (let column = 0; column < COLUMN_COUNT; column++) {
    const entry = entryOf(column);
    store<u32>(entry, <u32>place);
    place += roomOf(column);
    store<u32>(entry, <u32>place, limitOffset);
  }
  return place;
}

export function emptyColumns(): void {
  for (let column = 0; column < COLUMN_COUNT; column++) {
    const entry = entryOf(column);
    store<u32>(entry, load<u32>(entry), fillOffset);
    store<u32>(entry, load<u32>(entry), settledOffset);
  }
}

/** The rows since the last time are there to stay. */
export function settleRows(): void {
  for (let column = 0; column < COLUMN_COUNT; column++) {
    const entry = entryOf(column);
    store<u32>(entry, load<u32>(entry, fillOffset), settledOffset);
  }
}

/** Takes back the rows that are not settled. */
export function takeBackRows(): void {
  isFull = false;
  for (let column = 0; column < COLUMN_COUNT; column++) {
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
  // Copied 16 bytes at a time, which may write beyond it.
  const place = roomFor(column, length + 16);
  if (place == 0) return;
  if (length <= 256) for (let i: u32 = 0; i < length; i += 16) v128.store(place + i, v128.load(bytes + i));
  else memory.copy(place, bytes, length);
  keepBytes(column, length);
}

/** Where so many bytes can be put next; 0 if they do not fit. */
export function roomFor(column: i32, length: u32): usize {
  const entry = entryOf(column);
  const fill = load<u32>(entry, fillOffset);
  if (fill + length <= load<u32>(entry, limitOffset)) return fill;
  isFull = true;
  return 0;
}

/** Appends what was put there. */
export function keepBytes(column: i32, length: u32): void {
  const entry = entryOf(column);
  store<u32>(entry, load<u32>(entry, fillOffset) + length, fillOffset);
}
