// Finding the rows that a query's items match, and those their relations pull in. Rows are flagged, a byte each; marks
// say per transaction which kinds have any flag, so that writing passes over the others.
import { loadInt } from './columns';
import { KEY_ROOM, keyRooms } from './texts';

/** Addresses of the group's tables, set by the host for each row group. 32 bits each, in this order. */
const KEY_STARTS: u32 = 0;
const KEYS: u32 = 4;
const STATIC_COUNTS: u32 = 8;
const STATIC_WIDTH: u32 = 12;
const WRITABLE_COUNTS: u32 = 16;
const WRITABLE_WIDTH: u32 = 20;
const READONLY_COUNTS: u32 = 24;
const READONLY_WIDTH: u32 = 28;
const MARKS: u32 = 32;
const TRANSACTION_FLAGS: u32 = 36;
const INSTRUCTION_FLAGS: u32 = 40;
const LOG_FLAGS: u32 = 44;
const BALANCE_FLAGS: u32 = 48;
const TOKEN_FLAGS: u32 = 52;
const INSTRUCTION_STARTS: u32 = 56;
const LOG_STARTS: u32 = 60;
const BALANCE_STARTS: u32 = 64;
const TOKEN_STARTS: u32 = 68;
const DEPTHS: u32 = 72;
const DEPTH_WIDTH: u32 = 76;
const PROGRAMS: u32 = 80;
const PROGRAM_WIDTH: u32 = 84;
const ACCOUNTS: u32 = 88;
const ACCOUNT_WIDTH: u32 = 92;
const ACCOUNT_STARTS: u32 = 96;
const DATA: u32 = 100;
const DATA_STARTS: u32 = 104;
const INSTRUCTION_FIELDS: u32 = 108;
const INSTRUCTION_FIELDS_WIDTH: u32 = 112;
const LOG_INSTRUCTIONS: u32 = 116;
const LOG_INSTRUCTION_WIDTH: u32 = 120;

// Kinds as bits of a transaction's mark.
const TRANSACTION: u32 = 1;
const INSTRUCTION: u32 = 2;
const LOG: u32 = 4;
const BALANCE: u32 = 8;
const TOKEN: u32 = 16;

// Relations of items. engine/compile-items.ts has the same numbers.
const WITH_TRANSACTION: u32 = 1;
const WITH_BALANCES: u32 = 2;
const WITH_TOKEN_BALANCES: u32 = 4;
const WITH_INSTRUCTIONS: u32 = 8;
const WITH_INNER: u32 = 16;
const WITH_PARENTS: u32 = 32;
const WITH_OWN_LOGS: u32 = 64;
const WITH_LOGS: u32 = 128;
const WITH_OWN_INSTRUCTION: u32 = 256;

let group: usize = 0;
/** Per position of the transaction at hand: which address filters its key satisfies. */
let positionBits: usize = 0;

export function setGroup(table: usize, scratch: usize): void {
  group = table;
  positionBits = scratch;
}

// @ts-ignore: decorator
@inline
function mark(transaction: u32, kind: u32): void {
  const at: usize = load<u32>(group, MARKS) + transaction;
  store<u8>(at, load<u8>(at) | <u8>kind);
}

// @ts-ignore: decorator
@inline
function startOf(starts: u32, transaction: u32): u32 {
  return load<u32>(load<u32>(group + starts) + (transaction << 2));
}

function flagRange(flags: u32, starts: u32, transaction: u32, kind: u32): void {
  const first = startOf(starts, transaction);
  const end = startOf(starts, transaction + 1);
  if (end == first) return;
  setFlags(load<u32>(group + flags) + first, end - first);
  mark(transaction, kind);
}

/** Ranges are short: a call to fill memory would cost more than it does. */
// @ts-ignore: decorator
@inline
function setFlags(at: usize, count: u32): void {
  const end = at + count;
  for (; at + 8 <= end; at += 8) store<u64>(at, 0x0101010101010101);
  for (; at < end; at++) store<u8>(at, 1);
}

function relate(relations: u32, transaction: u32): void {
  if ((relations & WITH_TRANSACTION) != 0) {
    store<u8>(load<u32>(group, TRANSACTION_FLAGS) + transaction, 1);
    mark(transaction, TRANSACTION);
  }
  if ((relations & WITH_INSTRUCTIONS) != 0) flagRange(INSTRUCTION_FLAGS, INSTRUCTION_STARTS, transaction, INSTRUCTION);
  if ((relations & WITH_LOGS) != 0) flagRange(LOG_FLAGS, LOG_STARTS, transaction, LOG);
  if ((relations & WITH_BALANCES) != 0) flagRange(BALANCE_FLAGS, BALANCE_STARTS, transaction, BALANCE);
  if ((relations & WITH_TOKEN_BALANCES) != 0) flagRange(TOKEN_FLAGS, TOKEN_STARTS, transaction, TOKEN);
}

/** Lists longer than this come as a bit for every id of the segment instead. */
const LIST_MAX: u32 = 4;

/** Whether the id is in the list: a few ids, or bits where there are more. */
// @ts-ignore: decorator
@inline
function contains(ids: usize, count: u32, id: u32): bool {
  if (count > LIST_MAX) return ((load<u8>(ids + (id >> 3)) >> <u8>(id & 7)) & 1) != 0;
  for (let i: u32 = 0; i < count; i++) if (load<u32>(ids + (i << 2)) == id) return true;
  return false;
}

/** Filters of 16 bytes: what it applies to · (width) · count · ids. Bit i of a position stands for filter i. */
function matchKeys(transaction: u32, filters: usize, filterCount: u32): bool {
  const first = startOf(KEY_STARTS, transaction);
  const count = startOf(KEY_STARTS, transaction + 1) - first;
  const keys: usize = load<u32>(group, KEYS) + (first << 2);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const at = filters + (filter << 4);
    const ids: usize = load<u32>(at, 12);
    const idCount = load<u32>(at, 8);
    const found = idCount == 1 ? matchOne(keys, count, load<u32>(ids), filter) : matchMany(keys, count, ids, idCount, filter);
    // A filter that no key satisfies ends it: every filter must hold.
    if (!found) return false;
  }
  return true;
}

/** Four keys at once; lists have spare bytes behind them. The first filter finds what others left, and overwrites it. */
// @ts-ignore: decorator
@inline
function matchOne(keys: usize, count: u32, id: u32, filter: u32): bool {
  const wanted = i32x4.splat(<i32>id);
  const bits = i32x4.splat(1 << <i32>filter);
  const whole = count & ~3;
  let any = i32x4.splat(0);
  let i: u32 = 0;
  for (; i < whole; i += 4) {
    const equal = i32x4.eq(v128.load(keys + (i << 2)), wanted);
    any = v128.or(any, equal);
    putBits(positionBits + (i << 2), v128.and(equal, bits), filter);
  }
  if (i < count) {
    // What lies behind the last key must not count.
    const isKey = i32x4.lt_u(i32x4(0, 1, 2, 3), i32x4.splat(<i32>(count - i)));
    const equal = v128.and(i32x4.eq(v128.load(keys + (i << 2)), wanted), isKey);
    any = v128.or(any, equal);
    putBits(positionBits + (i << 2), v128.and(equal, bits), filter);
  }
  return v128.any_true(any);
}

// @ts-ignore: decorator
@inline
function putBits(at: usize, bits: v128, filter: u32): void {
  v128.store(at, filter == 0 ? bits : v128.or(v128.load(at), bits));
}

function matchMany(keys: usize, count: u32, ids: usize, idCount: u32, filter: u32): bool {
  let found: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = positionBits + (i << 2);
    const before: u32 = filter == 0 ? 0 : load<u32>(at);
    const isIn: u32 = contains(ids, idCount, load<u32>(keys + (i << 2))) ? 1 : 0;
    found |= isIn;
    store<u32>(at, before | (isIn << filter));
  }
  return found != 0;
}

/** Applies to: 0-15 that account, 16 the program, 17 any account. */
function matchAccounts(row: u32, filters: usize, filterCount: u32): bool {
  const accounts: usize = load<u32>(group, ACCOUNTS);
  const width = load<u32>(group, ACCOUNT_WIDTH);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const target = load<u32>(filters + (filter << 4));
    const bit: u32 = 1 << filter;
    // The program was looked at first.
    if (target == 16) continue;
    const starts: usize = load<u32>(group, ACCOUNT_STARTS) + (row << 2);
    const first = load<u32>(starts);
    const end = load<u32>(starts, 4);
    if (target < 16) {
      if (first + target >= end) return false;
      const position = loadInt(accounts, width, first + target);
      if ((load<u32>(positionBits + (position << 2)) & bit) == 0) return false;
      continue;
    }
    let found = false;
    for (let i = first; i < end && !found; i++) {
      found = (load<u32>(positionBits + (loadInt(accounts, width, i) << 2)) & bit) != 0;
    }
    if (!found) return false;
  }
  return true;
}

/** Filters of 16 bytes: length · unused · count · values (48 bytes each: the bytes, the mask of those that count, their number). */
function matchData(row: u32, filters: usize, filterCount: u32): bool {
  if (filterCount == 0) return true;
  const start = load<u32>(load<u32>(group, DATA_STARTS) + (row << 2));
  const length = load<u32>(load<u32>(group, DATA_STARTS) + (row << 2), 4) - start;
  // What lies behind shorter data is not compared: the length decides first.
  const prefix = v128.load(load<u32>(group, DATA) + start);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const at = filters + (filter << 4);
    const count = load<u32>(at, 8);
    let value: usize = load<u32>(at, 12);
    let found = false;
    for (let i: u32 = 0; i < count && !found; i++, value += 48) {
      const difference = v128.and(v128.xor(prefix, v128.load(value)), v128.load(value, 16));
      found = length >= load<u32>(value, 32) && !v128.any_true(difference);
    }
    if (!found) return false;
  }
  return true;
}

/**
 * item, 48 bytes: address filters · count · data filters · count · committed (0, 1, or 3 for any) · relations · candidates ·
 * count · number of the group's first transaction in the segment, over which candidates are numbered · the bit of the filter
 * by program, 0 if there is none
 * Without a list of candidates every transaction of the group is one. Answers how many rows matched.
 */
export function selectInstructions(item: usize, transactionCount: u32): u32 {
  const filters: usize = load<u32>(item);
  const filterCount = load<u32>(item, 4);
  const candidates: usize = load<u32>(item, 24);
  const count = candidates == 0 ? transactionCount : load<u32>(item, 28);
  const base = load<u32>(item, 32);
  let matched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = candidates == 0 ? i : load<u32>(candidates + (i << 2)) - base;
    if (filterCount > 0 && !matchKeys(transaction, filters, filterCount)) continue;
    matched += selectInTransaction(item, transaction);
  }
  return matched;
}

function selectInTransaction(item: usize, transaction: u32): u32 {
  const first = startOf(INSTRUCTION_STARTS, transaction);
  const end = startOf(INSTRUCTION_STARTS, transaction + 1);
  const committed = load<u32>(item, 16);
  const relations = load<u32>(item, 20);
  const flags: usize = load<u32>(group, INSTRUCTION_FLAGS);
  const programs: usize = load<u32>(group, PROGRAMS);
  const programWidth = load<u32>(group, PROGRAM_WIDTH);
  const programBit = load<u32>(item, 36);
  let matched: u32 = 0;
  for (let row = first; row < end; row++) {
    // Most rows fail here.
    if (programBit != 0 && (load<u32>(positionBits + (loadInt(programs, programWidth, row) << 2)) & programBit) == 0) continue;
    if (committed != 3) {
      const fields = loadInt(load<u32>(group, INSTRUCTION_FIELDS), load<u32>(group, INSTRUCTION_FIELDS_WIDTH), row);
      if ((fields & 3) != committed) continue;
    }
    if (!matchData(row, load<u32>(item, 8), load<u32>(item, 12))) continue;
    if (!matchAccounts(row, load<u32>(item), load<u32>(item, 4))) continue;
    store<u8>(flags + row, 1);
    matched++;
    if ((relations & WITH_INNER) != 0) flagInner(row, end);
    if ((relations & WITH_PARENTS) != 0) flagParents(row, first);
    if ((relations & WITH_OWN_LOGS) != 0) flagOwnLogs(transaction, row - first);
  }
  if (matched > 0) {
    mark(transaction, INSTRUCTION);
    relate(relations, transaction);
  }
  return matched;
}

/** Rows are in pre-order and complete: what is deeper and follows without a break was called from here. */
function flagInner(row: u32, end: u32): void {
  const flags: usize = load<u32>(group, INSTRUCTION_FLAGS);
  const depths: usize = load<u32>(group, DEPTHS);
  const width = load<u32>(group, DEPTH_WIDTH);
  const depth = loadInt(depths, width, row);
  for (let next = row + 1; next < end && loadInt(depths, width, next) > depth; next++) store<u8>(flags + next, 1);
}

function flagParents(row: u32, first: u32): void {
  const flags: usize = load<u32>(group, INSTRUCTION_FLAGS);
  const depths: usize = load<u32>(group, DEPTHS);
  const width = load<u32>(group, DEPTH_WIDTH);
  let depth = loadInt(depths, width, row);
  for (let before = row; before > first && depth > 1; ) {
    before--;
    const own = loadInt(depths, width, before);
    if (own < depth) {
      store<u8>(flags + before, 1);
      depth = own;
    }
  }
}

function flagOwnLogs(transaction: u32, instruction: u32): void {
  const end = startOf(LOG_STARTS, transaction + 1);
  const instructions: usize = load<u32>(group, LOG_INSTRUCTIONS);
  const width = load<u32>(group, LOG_INSTRUCTION_WIDTH);
  const flags: usize = load<u32>(group, LOG_FLAGS);
  for (let row = startOf(LOG_STARTS, transaction); row < end; row++) {
    if (loadInt(instructions, width, row) != instruction) continue;
    store<u8>(flags + row, 1);
    mark(transaction, LOG);
  }
}

/** The same item; filters apply to: 0 the fee payer, 1 any listed key. */
export function selectTransactions(item: usize, transactionCount: u32): u32 {
  const filters: usize = load<u32>(item);
  const filterCount = load<u32>(item, 4);
  const candidates: usize = load<u32>(item, 24);
  const count = candidates == 0 ? transactionCount : load<u32>(item, 28);
  const base = load<u32>(item, 32);
  let matched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = candidates == 0 ? i : load<u32>(candidates + (i << 2)) - base;
    if (!matchTransaction(transaction, filters, filterCount)) continue;
    store<u8>(load<u32>(group, TRANSACTION_FLAGS) + transaction, 1);
    mark(transaction, TRANSACTION);
    relate(load<u32>(item, 20), transaction);
    matched++;
  }
  return matched;
}

function matchTransaction(transaction: u32, filters: usize, filterCount: u32): bool {
  const first = startOf(KEY_STARTS, transaction);
  const staticCount = loadInt(load<u32>(group, STATIC_COUNTS), load<u32>(group, STATIC_WIDTH), transaction);
  const listed =
    staticCount +
    loadInt(load<u32>(group, WRITABLE_COUNTS), load<u32>(group, WRITABLE_WIDTH), transaction) +
    loadInt(load<u32>(group, READONLY_COUNTS), load<u32>(group, READONLY_WIDTH), transaction);
  const keys: usize = load<u32>(group, KEYS) + (first << 2);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const at = filters + (filter << 4);
    const end: u32 = load<u32>(at) == 0 ? (staticCount > 0 ? 1 : 0) : listed;
    let found = false;
    for (let i: u32 = 0; i < end && !found; i++) {
      found = contains(load<u32>(at, 12), load<u32>(at, 8), load<u32>(keys + (i << 2)));
    }
    if (!found) return false;
  }
  return true;
}

/**
 * Logs, balances and token balances. A filter applies to a column of positions: address · width, plus 256 where 0 stands
 * for null and positions count from 1, plus 65,536 times how many values lie between two rows. `kinds` are the values wanted in a further column, as bits; 0 for all.
 *
 * table, 32 bytes: starts · flags · mark bit · kinds column · its width · kinds
 */
export function selectRows(item: usize, table: usize, transactionCount: u32): u32 {
  const filters: usize = load<u32>(item);
  const filterCount = load<u32>(item, 4);
  const relations = load<u32>(item, 20);
  const candidates: usize = load<u32>(item, 24);
  const count = candidates == 0 ? transactionCount : load<u32>(item, 28);
  const base = load<u32>(item, 32);
  const starts: usize = load<u32>(table);
  const flags: usize = load<u32>(table, 4);
  const kinds = load<u32>(table, 20);
  const isOne = filterCount == 1 && load<u32>(filters, 8) == 1;
  let matched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    if (candidates != 0 && filterCount > 0 && i % TOUCHED_AHEAD == 0) touchRows(item, starts, i, count);
    const transaction = candidates == 0 ? i : load<u32>(candidates + (i << 2)) - base;
    const first = load<u32>(starts + (transaction << 2));
    const end = load<u32>(starts + (transaction << 2), 4);
    if (first == end) continue;
    let wanted: u32 = 0;
    if (isOne) {
      wanted = positionOf(transaction, load<u32>(load<u32>(filters, 12)));
      if (wanted == NOWHERE) continue;
    } else if (filterCount > 0 && !matchKeys(transaction, filters, filterCount)) continue;
    let found = false;
    for (let row = first; row < end; row++) {
      if (isOne && !isAt(row, filters, wanted)) continue;
      if (kinds != 0 && ((1 << loadInt(load<u32>(table, 12), load<u32>(table, 16), row)) & kinds) == 0) continue;
      if (!isOne && !matchPositions(row, filters, filterCount)) continue;
      store<u8>(flags + row, 1);
      found = true;
      matched++;
      if ((relations & WITH_OWN_INSTRUCTION) != 0) flagOwnInstruction(transaction, row);
    }
    if (!found) continue;
    mark(transaction, load<u32>(table, 8));
    relate(relations, transaction);
  }
  return matched;
}

/** Candidates whose memory is asked for together. */
const TOUCHED_AHEAD: u32 = 32;
/** Kept, so that the loads are. */
let touched: u32 = 0;

/**
 * Candidates lie far apart, and what is read of one depends on itself: one after the other would wait for memory each time. So a
 * number of them is touched first, in a loop in which no load waits for the one before.
 */
function touchRows(item: usize, starts: usize, from: u32, count: u32): void {
  const candidates: usize = load<u32>(item, 24);
  const base = load<u32>(item, 32);
  const filter: usize = load<u32>(item);
  const rows: usize = load<u32>(filter);
  const shape = load<u32>(filter, 4);
  const rowBytes = (shape & 255) * (shape >> 16);
  const keys: usize = load<u32>(group, KEYS);
  const end = min(from + TOUCHED_AHEAD, count);
  let sum: u32 = 0;
  for (let i = from; i < end; i++) {
    const transaction = load<u32>(candidates + (i << 2)) - base;
    const list = keys + (startOf(KEY_STARTS, transaction) << 2);
    sum += load<u32>(list) + load<u32>(list, 64) + load<u8>(rows + load<u32>(starts + (transaction << 2)) * rowBytes);
  }
  touched = sum;
}

const NOWHERE: u32 = 0xffffffff;

/** Where in a transaction's key list an id stands first, which is where columns say it is. */
function positionOf(transaction: u32, id: u32): u32 {
  const first = startOf(KEY_STARTS, transaction);
  const count = startOf(KEY_STARTS, transaction + 1) - first;
  const keys: usize = load<u32>(group, KEYS) + (first << 2);
  const wanted = i32x4.splat(<i32>id);
  for (let i: u32 = 0; i < count; i += 4) {
    const equal = i32x4.bitmask(i32x4.eq(v128.load(keys + (i << 2)), wanted));
    if (equal == 0) continue;
    // What lies behind the last key must not count.
    const position = i + <u32>ctz(equal);
    return position < count ? position : NOWHERE;
  }
  return NOWHERE;
}

/** Whether the column of a filter names that position. */
// @ts-ignore: decorator
@inline
function isAt(row: u32, filter: usize, wanted: u32): bool {
  const shape = load<u32>(filter, 4);
  return loadInt(load<u32>(filter), shape & 255, row * (shape >> 16)) == wanted + ((shape >> 8) & 1);
}

function matchPositions(row: u32, filters: usize, filterCount: u32): bool {
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const at = filters + (filter << 4);
    const shape = load<u32>(at, 4);
    let position = loadInt(load<u32>(at), shape & 255, row * (shape >> 16));
    if ((shape & 256) != 0) {
      if (position == 0) return false;
      position--;
    }
    if ((load<u32>(positionBits + (position << 2)) & (1 << filter)) == 0) return false;
  }
  return true;
}

function flagOwnInstruction(transaction: u32, logRow: u32): void {
  const row = loadInt(load<u32>(group, LOG_INSTRUCTIONS), load<u32>(group, LOG_INSTRUCTION_WIDTH), logRow);
  store<u8>(load<u32>(group, INSTRUCTION_FLAGS) + startOf(INSTRUCTION_STARTS, transaction) + row, 1);
  mark(transaction, INSTRUCTION);
}

/** Rewards belong to blocks: flags the rows whose key is in the list, or all if there is no list. */
export function selectRewards(keys: usize, width: u32, rewardCount: u32, ids: usize, idCount: i32, flags: usize): u32 {
  let matched: u32 = 0;
  for (let row: u32 = 0; row < rewardCount; row++) {
    if (idCount >= 0 && !contains(ids, <u32>idCount, loadInt(keys, width, row))) continue;
    store<u8>(flags + row, 1);
    matched++;
  }
  return matched;
}

/** A key that a query writes and that has no room yet (`texts.ts`), until it gets one. */
const ASKED: u32 = 1;

// @ts-ignore: decorator
@inline
function ask(id: u32, rooms: usize, out: usize): usize {
  const at = rooms + (id << 2);
  if (load<u32>(at) != 0) return out;
  store<u32>(at, ASKED);
  store<u32>(out, id);
  return out + 4;
}

/** Keys of marked transactions that have no room: they are asked for in the table of rooms, their ids written to `out`. */
export function askKeys(transactionCount: u32, rooms: usize, out: usize): usize {
  const marks: usize = load<u32>(group, MARKS);
  const keys: usize = load<u32>(group, KEYS);
  for (let transaction: u32 = 0; transaction < transactionCount; transaction++) {
    if (load<u8>(marks + transaction) == 0) continue;
    const end = startOf(KEY_STARTS, transaction + 1);
    for (let i = startOf(KEY_STARTS, transaction); i < end; i++) out = ask(load<u32>(keys + (i << 2)), rooms, out);
  }
  return out;
}

/** The same for flagged rewards. */
export function askRewardKeys(keys: usize, width: u32, rewardCount: u32, flags: usize, rooms: usize, out: usize): usize {
  for (let row: u32 = 0; row < rewardCount; row++) {
    if (load<u8>(flags + row) != 0) out = ask(loadInt(keys, width, row), rooms, out);
  }
  return out;
}

/** Gives rooms to keys that were asked for, one after the other from `out`. `keys` are those from `firstId` on. */
export function placeKeys(ids: usize, count: u32, keys: usize, firstId: u32, rooms: usize, out: usize): void {
  for (let i: u32 = 0; i < count; i++, out += KEY_ROOM) {
    const id = load<u32>(ids + (i << 2));
    store<u32>(rooms + (id << 2), <u32>out);
    keyRooms(keys + ((id - firstId) << 5), 1, out);
  }
}

/** Keys of a block that is read at once, as a power of two. */
const BLOCK_KEYS_SHIFT: u32 = 11;

/**
 * Gives rooms from `out` on to those keys that were asked for whose block is in memory. `blocks` has the address of every block of
 * keys, 0 if it is not there. Returns how many keys are left; they are moved to the front of the list.
 */
export function placeAsked(ids: usize, count: u32, blocks: usize, rooms: usize, out: usize): u32 {
  let left: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const id = load<u32>(ids + (i << 2));
    const block: usize = load<u32>(blocks + ((id >> BLOCK_KEYS_SHIFT) << 2));
    if (block == 0) {
      store<u32>(ids + (left++ << 2), id);
      continue;
    }
    store<u32>(rooms + (id << 2), <u32>out);
    keyRooms(block + ((id & ((1 << BLOCK_KEYS_SHIFT) - 1)) << 5), 1, out);
    out += KEY_ROOM;
  }
  return left;
}

/** Takes back what was asked for. */
export function unaskKeys(rooms: usize, count: u32): void {
  for (let at = rooms; at < rooms + (count << 2); at += 4) if (load<u32>(at) == ASKED) store<u32>(at, 0);
}
