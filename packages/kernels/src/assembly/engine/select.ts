// Selects the rows that match the items of a query, and their related rows. A selected row has its flag byte set. The mark of a
// transaction has a bit for each kind that has flagged rows, so that the writer skips the others.
import { INS_FLAGS_OUTCOME_MASK, OUTCOME_COMMITTED, OUTCOME_FAILED, OUTCOME_UNKNOWN } from '../../layout/columns';
import {
  DATA_VALUE_BYTES, DATA_VALUE_LENGTH, DATA_VALUE_MASK, FILTER_BYTES, FILTER_BYTES_SHIFT, FILTER_SHAPE, FILTER_TARGET,
  FILTER_VALUES, FILTER_VALUE_COUNT, GROUP_ACCOUNTS, GROUP_ACCOUNT_STARTS, GROUP_ACCOUNT_WIDTH, GROUP_BALANCE_FLAGS,
  GROUP_BALANCE_STARTS, GROUP_DATA, GROUP_DATA_STARTS, GROUP_DEPTHS, GROUP_DEPTH_WIDTH, GROUP_ERRORS, GROUP_ERROR_WIDTH,
  GROUP_FEE_NULLS, GROUP_FEE_NULL_WIDTH, GROUP_INSTRUCTION_FIELDS, GROUP_INSTRUCTION_FIELDS_WIDTH, GROUP_INSTRUCTION_FLAGS,
  GROUP_INSTRUCTION_STARTS, GROUP_KEYS, GROUP_KEY_STARTS, GROUP_LOG_FLAGS, GROUP_LOG_INSTRUCTIONS,
  GROUP_LOG_INSTRUCTION_WIDTH, GROUP_LOG_STARTS, GROUP_MARKS, GROUP_PROGRAMS, GROUP_PROGRAM_WIDTH, GROUP_READONLY_COUNTS,
  GROUP_READONLY_WIDTH, GROUP_STATIC_COUNTS, GROUP_STATIC_WIDTH, GROUP_TOKEN_FLAGS, GROUP_TOKEN_STARTS,
  GROUP_TRANSACTION_FLAGS, GROUP_WRITABLE_COUNTS, GROUP_WRITABLE_WIDTH, ID_LIST_MAX, ITEM_CANDIDATES, ITEM_CANDIDATE_COUNT,
  ITEM_DATA_FILTERS, ITEM_DATA_FILTER_COUNT, ITEM_FILTERS, ITEM_FILTER_COUNT, ITEM_OUTCOME, ITEM_PROGRAM_BIT, ITEM_RELATIONS,
  MARK_BALANCE, MARK_INSTRUCTION, MARK_LOG, MARK_TOKEN_BALANCE, MARK_TRANSACTION, OUTCOME_ANY, ROWS_FLAGS, ROWS_KINDS, ROWS_KIND_BITS, ROWS_KIND_WIDTH, ROWS_MARK, ROWS_STARTS,
  SHAPE_EITHER, SHAPE_NULLABLE, SHAPE_STRIDE_SHIFT, SHAPE_WIDTH_MASK, TARGET_FEE_PAYER, TARGET_PROGRAM, WITH_BALANCES,
  WITH_INNER, WITH_INSTRUCTIONS, WITH_LOGS, WITH_OWN_INSTRUCTION, WITH_OWN_LOGS, WITH_PARENTS, WITH_TOKEN_BALANCES,
  WITH_TRANSACTION,
} from '../../layout/selection';
import { loadInt } from './columns';

/** The address of the group's table. */
export let group: usize = 0;
/** For each key position of the current transaction: the address filters that accept its key, as bits. */
let positionBits: usize = 0;

export function setGroup(table: usize, scratch: usize): void {
  group = table;
  positionBits = scratch;
}

// @ts-ignore: decorator
@inline
function mark(transaction: u32, kind: u32): void {
  const at: usize = load<u32>(group, GROUP_MARKS) + transaction;
  store<u8>(at, load<u8>(at) | <u8>kind);
}

// @ts-ignore: decorator
@inline
export function startOf(starts: u32, transaction: u32): u32 {
  return load<u32>(load<u32>(group + starts) + (transaction << 2));
}

function flagRange(flags: u32, starts: u32, transaction: u32, kind: u32): void {
  const first = startOf(starts, transaction);
  const end = startOf(starts, transaction + 1);
  if (end == first) return;
  setFlags(load<u32>(group + flags) + first, end - first);
  mark(transaction, kind);
}

/** An inline loop, because ranges are short and a call to memory.fill would cost more. */
// @ts-ignore: decorator
@inline
function setFlags(at: usize, count: u32): void {
  const end = at + count;
  for (; at + 8 <= end; at += 8) store<u64>(at, 0x0101010101010101);
  for (; at < end; at++) store<u8>(at, 1);
}

function relate(relations: u32, transaction: u32): void {
  if ((relations & WITH_TRANSACTION) != 0) {
    store<u8>(load<u32>(group, GROUP_TRANSACTION_FLAGS) + transaction, 1);
    mark(transaction, MARK_TRANSACTION);
  }
  if ((relations & WITH_INSTRUCTIONS) != 0) flagRange(GROUP_INSTRUCTION_FLAGS, GROUP_INSTRUCTION_STARTS, transaction, MARK_INSTRUCTION);
  if ((relations & WITH_LOGS) != 0) flagRange(GROUP_LOG_FLAGS, GROUP_LOG_STARTS, transaction, MARK_LOG);
  if ((relations & WITH_BALANCES) != 0) flagRange(GROUP_BALANCE_FLAGS, GROUP_BALANCE_STARTS, transaction, MARK_BALANCE);
  if ((relations & WITH_TOKEN_BALANCES) != 0) flagRange(GROUP_TOKEN_FLAGS, GROUP_TOKEN_STARTS, transaction, MARK_TOKEN_BALANCE);
}

/** Returns whether the list has the id. A list longer than `ID_LIST_MAX` is a bit set. */
// @ts-ignore: decorator
@inline
function contains(ids: usize, count: u32, id: u32): bool {
  if (count > <u32>ID_LIST_MAX) return ((load<u8>(ids + (id >> 3)) >> <u8>(id & 7)) & 1) != 0;
  for (let i: u32 = 0; i < count; i++) if (load<u32>(ids + (i << 2)) == id) return true;
  return false;
}

/**
 * Finds the keys of a transaction that each address filter accepts: bit i of a position is set if filter i accepts its key.
 * Returns false if a filter accepts no key.
 */
function matchKeys(transaction: u32, filters: usize, filterCount: u32): bool {
  const first = startOf(GROUP_KEY_STARTS, transaction);
  const count = startOf(GROUP_KEY_STARTS, transaction + 1) - first;
  const keys: usize = load<u32>(group, GROUP_KEYS) + (first << 2);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const at = filters + (filter << FILTER_BYTES_SHIFT);
    const ids: usize = load<u32>(at, FILTER_VALUES);
    const idCount = load<u32>(at, FILTER_VALUE_COUNT);
    const found = idCount == 1 ? matchOne(keys, count, load<u32>(ids), filter) : matchMany(keys, count, ids, idCount, filter);
    if (!found) return false;
  }
  return true;
}

/** Compares four keys at once; lists have spare bytes after them. The first filter overwrites the results of earlier transactions. */
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
    // Ignores the lanes after the last key.
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

/** Returns whether the accounts of an instruction satisfy the address filters. The caller has checked the program. */
function matchAccounts(row: u32, filters: usize, filterCount: u32): bool {
  const accounts: usize = load<u32>(group, GROUP_ACCOUNTS);
  const width = load<u32>(group, GROUP_ACCOUNT_WIDTH);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const target = load<u32>(filters + (filter << FILTER_BYTES_SHIFT), FILTER_TARGET);
    const bit: u32 = 1 << filter;
    if (target == TARGET_PROGRAM) continue;
    const starts: usize = load<u32>(group, GROUP_ACCOUNT_STARTS) + (row << 2);
    const first = load<u32>(starts);
    const end = load<u32>(starts, 4);
    if (target < <u32>TARGET_PROGRAM) {
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

/** Returns whether the data of an instruction starts with one value of every data filter. */
function matchData(row: u32, filters: usize, filterCount: u32): bool {
  if (filterCount == 0) return true;
  const start = load<u32>(load<u32>(group, GROUP_DATA_STARTS) + (row << 2));
  const length = load<u32>(load<u32>(group, GROUP_DATA_STARTS) + (row << 2), 4) - start;
  // The bytes after shorter data do not matter, because the length is checked too.
  const prefix = v128.load(load<u32>(group, GROUP_DATA) + start);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const at = filters + (filter << FILTER_BYTES_SHIFT);
    const count = load<u32>(at, FILTER_VALUE_COUNT);
    let value: usize = load<u32>(at, FILTER_VALUES);
    let found = false;
    for (let i: u32 = 0; i < count && !found; i++, value += DATA_VALUE_BYTES) {
      const difference = v128.and(v128.xor(prefix, v128.load(value)), v128.load(value, DATA_VALUE_MASK));
      found = length >= load<u32>(value, DATA_VALUE_LENGTH) && !v128.any_true(difference);
    }
    if (!found) return false;
  }
  return true;
}

/** Flags the instructions that match an item, and their related records. Returns the number of matches. */
export function selectInstructions(item: usize, transactionCount: u32): u32 {
  const filters: usize = load<u32>(item, ITEM_FILTERS);
  const filterCount = load<u32>(item, ITEM_FILTER_COUNT);
  const candidates: usize = load<u32>(item, ITEM_CANDIDATES);
  const count = candidates == 0 ? transactionCount : load<u32>(item, ITEM_CANDIDATE_COUNT);
  let matched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = candidates == 0 ? i : load<u32>(candidates + (i << 2));
    if (filterCount > 0 && !matchKeys(transaction, filters, filterCount)) continue;
    matched += selectInTransaction(item, transaction);
  }
  return matched;
}

function selectInTransaction(item: usize, transaction: u32): u32 {
  const first = startOf(GROUP_INSTRUCTION_STARTS, transaction);
  const end = startOf(GROUP_INSTRUCTION_STARTS, transaction + 1);
  const outcome = load<u32>(item, ITEM_OUTCOME);
  const relations = load<u32>(item, ITEM_RELATIONS);
  const flags: usize = load<u32>(group, GROUP_INSTRUCTION_FLAGS);
  const programs: usize = load<u32>(group, GROUP_PROGRAMS);
  const programWidth = load<u32>(group, GROUP_PROGRAM_WIDTH);
  const programBit = load<u32>(item, ITEM_PROGRAM_BIT);
  let matched: u32 = 0;
  for (let row = first; row < end; row++) {
    // The program is checked first, because most rows fail here.
    if (programBit != 0 && (load<u32>(positionBits + (loadInt(programs, programWidth, row) << 2)) & programBit) == 0) continue;
    if (outcome != OUTCOME_ANY) {
      const fields = loadInt(load<u32>(group, GROUP_INSTRUCTION_FIELDS), load<u32>(group, GROUP_INSTRUCTION_FIELDS_WIDTH), row);
      if ((fields & INS_FLAGS_OUTCOME_MASK) != outcome) continue;
    }
    if (!matchData(row, load<u32>(item, ITEM_DATA_FILTERS), load<u32>(item, ITEM_DATA_FILTER_COUNT))) continue;
    if (!matchAccounts(row, load<u32>(item, ITEM_FILTERS), load<u32>(item, ITEM_FILTER_COUNT))) continue;
    store<u8>(flags + row, 1);
    matched++;
    if ((relations & WITH_INNER) != 0) flagInner(row, end);
    if ((relations & WITH_PARENTS) != 0) flagParents(row, first);
    if ((relations & WITH_OWN_LOGS) != 0) flagOwnLogs(transaction, row - first);
  }
  if (matched > 0) {
    mark(transaction, MARK_INSTRUCTION);
    relate(relations, transaction);
  }
  return matched;
}

/** Flags all calls below an instruction: the deeper rows directly after it, because rows are in pre-order. */
function flagInner(row: u32, end: u32): void {
  const flags: usize = load<u32>(group, GROUP_INSTRUCTION_FLAGS);
  const depths: usize = load<u32>(group, GROUP_DEPTHS);
  const width = load<u32>(group, GROUP_DEPTH_WIDTH);
  const depth = loadInt(depths, width, row);
  for (let next = row + 1; next < end && loadInt(depths, width, next) > depth; next++) store<u8>(flags + next, 1);
}

function flagParents(row: u32, first: u32): void {
  const flags: usize = load<u32>(group, GROUP_INSTRUCTION_FLAGS);
  const depths: usize = load<u32>(group, GROUP_DEPTHS);
  const width = load<u32>(group, GROUP_DEPTH_WIDTH);
  let depth = loadInt(depths, width, row);
  for (let before = row; before > first && depth > 1; ) {
    before--;
    const depthBefore = loadInt(depths, width, before);
    if (depthBefore < depth) {
      store<u8>(flags + before, 1);
      depth = depthBefore;
    }
  }
}

function flagOwnLogs(transaction: u32, instruction: u32): void {
  const end = startOf(GROUP_LOG_STARTS, transaction + 1);
  const instructions: usize = load<u32>(group, GROUP_LOG_INSTRUCTIONS);
  const width = load<u32>(group, GROUP_LOG_INSTRUCTION_WIDTH);
  const flags: usize = load<u32>(group, GROUP_LOG_FLAGS);
  for (let row = startOf(GROUP_LOG_STARTS, transaction); row < end; row++) {
    if (loadInt(instructions, width, row) != instruction) continue;
    store<u8>(flags + row, 1);
    mark(transaction, MARK_LOG);
  }
}

/** Flags the transactions that match an item, and their related records. Returns the number of matches. */
export function selectTransactions(item: usize, transactionCount: u32): u32 {
  const filters: usize = load<u32>(item, ITEM_FILTERS);
  const filterCount = load<u32>(item, ITEM_FILTER_COUNT);
  const candidates: usize = load<u32>(item, ITEM_CANDIDATES);
  const count = candidates == 0 ? transactionCount : load<u32>(item, ITEM_CANDIDATE_COUNT);
  const outcome = load<u32>(item, ITEM_OUTCOME);
  let matched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = candidates == 0 ? i : load<u32>(candidates + (i << 2));
    if (outcome != OUTCOME_ANY && outcomeOf(transaction) != outcome) continue;
    if (!matchTransaction(transaction, filters, filterCount)) continue;
    store<u8>(load<u32>(group, GROUP_TRANSACTION_FLAGS) + transaction, 1);
    mark(transaction, MARK_TRANSACTION);
    relate(load<u32>(item, ITEM_RELATIONS), transaction);
    matched++;
  }
  return matched;
}

/** Returns the outcome of a transaction: error code 0 is null, and only a transaction without metadata has no fee. */
function outcomeOf(transaction: u32): u32 {
  if (loadInt(load<u32>(group, GROUP_ERRORS), load<u32>(group, GROUP_ERROR_WIDTH), transaction) != 0) return OUTCOME_FAILED;
  const isFeeNull = loadInt(load<u32>(group, GROUP_FEE_NULLS), load<u32>(group, GROUP_FEE_NULL_WIDTH), transaction) != 0;
  return isFeeNull ? OUTCOME_UNKNOWN : OUTCOME_COMMITTED;
}

function matchTransaction(transaction: u32, filters: usize, filterCount: u32): bool {
  const first = startOf(GROUP_KEY_STARTS, transaction);
  const staticCount = loadInt(load<u32>(group, GROUP_STATIC_COUNTS), load<u32>(group, GROUP_STATIC_WIDTH), transaction);
  const listed =
    staticCount +
    loadInt(load<u32>(group, GROUP_WRITABLE_COUNTS), load<u32>(group, GROUP_WRITABLE_WIDTH), transaction) +
    loadInt(load<u32>(group, GROUP_READONLY_COUNTS), load<u32>(group, GROUP_READONLY_WIDTH), transaction);
  const keys: usize = load<u32>(group, GROUP_KEYS) + (first << 2);
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const at = filters + (filter << FILTER_BYTES_SHIFT);
    const end: u32 = load<u32>(at, FILTER_TARGET) == TARGET_FEE_PAYER ? (staticCount > 0 ? 1 : 0) : listed;
    let found = false;
    for (let i: u32 = 0; i < end && !found; i++) {
      found = contains(load<u32>(at, FILTER_VALUES), load<u32>(at, FILTER_VALUE_COUNT), load<u32>(keys + (i << 2)));
    }
    if (!found) return false;
  }
  return true;
}

/**
 * Flags the logs, balances or token balances that match an item, and their related records. Returns the number of matches.
 * Each address filter is compared with a column of positions.
 */
export function selectRows(item: usize, table: usize, transactionCount: u32): u32 {
  const filters: usize = load<u32>(item, ITEM_FILTERS);
  const filterCount = load<u32>(item, ITEM_FILTER_COUNT);
  const relations = load<u32>(item, ITEM_RELATIONS);
  const candidates: usize = load<u32>(item, ITEM_CANDIDATES);
  const count = candidates == 0 ? transactionCount : load<u32>(item, ITEM_CANDIDATE_COUNT);
  const starts: usize = load<u32>(table, ROWS_STARTS);
  const flags: usize = load<u32>(table, ROWS_FLAGS);
  const kinds = load<u32>(table, ROWS_KIND_BITS);
  // If there is one address filter, over one column or two alternatives, no bits per position are needed.
  const isEither = filterCount == 2 && (load<u32>(filters, FILTER_SHAPE) & SHAPE_EITHER) != 0;
  const isOne = (filterCount == 1 || isEither) && load<u32>(filters, FILTER_VALUE_COUNT) == 1;
  let matched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    if (candidates != 0 && filterCount > 0 && i % TOUCHED_AHEAD == 0) touchRows(item, starts, i, count);
    const transaction = candidates == 0 ? i : load<u32>(candidates + (i << 2));
    const first = load<u32>(starts + (transaction << 2));
    const end = load<u32>(starts + (transaction << 2), 4);
    if (first == end) continue;
    let wanted: u32 = 0;
    if (isOne) {
      wanted = positionOf(transaction, load<u32>(load<u32>(filters, FILTER_VALUES)));
      if (wanted == NOWHERE) continue;
    } else if (filterCount > 0 && !matchKeys(transaction, filters, filterCount)) continue;
    let found = false;
    for (let row = first; row < end; row++) {
      if (isOne && !isAt(row, filters, wanted) && !(isEither && isAt(row, filters + FILTER_BYTES, wanted))) continue;
      if (kinds != 0 && ((1 << loadInt(load<u32>(table, ROWS_KINDS), load<u32>(table, ROWS_KIND_WIDTH), row)) & kinds) == 0) continue;
      if (!isOne && !matchPositions(row, filters, filterCount)) continue;
      store<u8>(flags + row, 1);
      found = true;
      matched++;
      if ((relations & WITH_OWN_INSTRUCTION) != 0) flagOwnInstruction(transaction, row);
    }
    if (!found) continue;
    mark(transaction, load<u32>(table, ROWS_MARK));
    relate(relations, transaction);
  }
  return matched;
}

/** The number of candidates that are prefetched together. */
const TOUCHED_AHEAD: u32 = 32;
/** Receives the sum of the prefetched values, so that the compiler keeps the loads. */
let touched: u32 = 0;

/**
 * Prefetches the next candidates. Candidates are far apart in memory, and the loads of one candidate depend on each other. The
 * loads of this loop are independent, so the processor waits for many of them at once.
 */
function touchRows(item: usize, starts: usize, from: u32, count: u32): void {
  const candidates: usize = load<u32>(item, ITEM_CANDIDATES);
  const filter: usize = load<u32>(item, ITEM_FILTERS);
  const rows: usize = load<u32>(filter, FILTER_TARGET);
  const shape = load<u32>(filter, FILTER_SHAPE);
  const rowBytes = (shape & SHAPE_WIDTH_MASK) * (shape >> SHAPE_STRIDE_SHIFT);
  const keys: usize = load<u32>(group, GROUP_KEYS);
  const end = min(from + TOUCHED_AHEAD, count);
  let sum: u32 = 0;
  for (let i = from; i < end; i++) {
    const transaction = load<u32>(candidates + (i << 2));
    const list = keys + (startOf(GROUP_KEY_STARTS, transaction) << 2);
    sum += load<u32>(list) + load<u32>(list, 64) + load<u8>(rows + load<u32>(starts + (transaction << 2)) * rowBytes);
  }
  touched = sum;
}

const NOWHERE: u32 = 0xffffffff;

/** Returns the first position of an id in the key list of a transaction, which is the position that columns use. */
function positionOf(transaction: u32, id: u32): u32 {
  const first = startOf(GROUP_KEY_STARTS, transaction);
  const count = startOf(GROUP_KEY_STARTS, transaction + 1) - first;
  const keys: usize = load<u32>(group, GROUP_KEYS) + (first << 2);
  const wanted = i32x4.splat(<i32>id);
  for (let i: u32 = 0; i < count; i += 4) {
    const equal = i32x4.bitmask(i32x4.eq(v128.load(keys + (i << 2)), wanted));
    if (equal == 0) continue;
    // Ignores the lanes after the last key.
    const position = i + <u32>ctz(equal);
    return position < count ? position : NOWHERE;
  }
  return NOWHERE;
}

/** Returns whether the column of a filter has the position in a row. */
// @ts-ignore: decorator
@inline
function isAt(row: u32, filter: usize, wanted: u32): bool {
  const shape = load<u32>(filter, FILTER_SHAPE);
  const first: u32 = (shape & SHAPE_NULLABLE) != 0 ? 1 : 0;
  return loadPosition(row, filter, shape) == wanted + first;
}

// @ts-ignore: decorator
@inline
function loadPosition(row: u32, filter: usize, shape: u32): u32 {
  return loadInt(load<u32>(filter, FILTER_TARGET), shape & SHAPE_WIDTH_MASK, row * (shape >> SHAPE_STRIDE_SHIFT));
}

function matchPositions(row: u32, filters: usize, filterCount: u32): bool {
  for (let filter: u32 = 0; filter < filterCount; filter++) {
    const isEither = (load<u32>(filters + (filter << FILTER_BYTES_SHIFT), FILTER_SHAPE) & SHAPE_EITHER) != 0;
    let found = matchPosition(row, filters, filter);
    if (isEither) found = matchPosition(row, filters, ++filter) || found;
    if (!found) return false;
  }
  return true;
}

// @ts-ignore: decorator
@inline
function matchPosition(row: u32, filters: usize, filter: u32): bool {
  const at = filters + (filter << FILTER_BYTES_SHIFT);
  const shape = load<u32>(at, FILTER_SHAPE);
  let position = loadPosition(row, at, shape);
  if ((shape & SHAPE_NULLABLE) != 0) {
    if (position == 0) return false;
    position--;
  }
  return (load<u32>(positionBits + (position << 2)) & (1 << filter)) != 0;
}

function flagOwnInstruction(transaction: u32, logRow: u32): void {
  const row = loadInt(load<u32>(group, GROUP_LOG_INSTRUCTIONS), load<u32>(group, GROUP_LOG_INSTRUCTION_WIDTH), logRow);
  store<u8>(load<u32>(group, GROUP_INSTRUCTION_FLAGS) + startOf(GROUP_INSTRUCTION_STARTS, transaction) + row, 1);
  mark(transaction, MARK_INSTRUCTION);
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
