// Gathers keys as indexes of the dictionary of a batch: each distinct key gets the next index.
import { keyText } from '../../common/texts';
import { loadInt } from '../columns';
import { keyStarts, keyTable, keys } from '../write-context';
import { clearBit, rowAt } from './rows';

// The distinct keys of a batch: for each id its index in the dictionary plus one, or 0, and the list of the ids.
let indexes: usize = 0;
let distinct: usize = 0;
let distinctCount: u32 = 0;
/** The number of texts before the keys in the dictionary. */
let base: u32 = 0;

export function beginKeys(indexTable: usize, list: usize, textsBefore: u32): void {
  indexes = indexTable;
  distinct = list;
  distinctCount = 0;
  base = textsBefore;
}

/** Clears the indexes of all keys of the batch. */
export function endKeys(): void {
  for (let i: u32 = 0; i < distinctCount; i++) store<u32>(indexes + (rowAt(distinct, i) << 2), 0);
}

export function keyCount(): u32 {
  return distinctCount;
}

// @ts-ignore: decorator
@inline
function indexOf(id: u32): u32 {
  const at = indexes + (id << 2);
  const known = load<u32>(at);
  return known != 0 ? known - 1 : addKey(id, at);
}

function addKey(id: u32, at: usize): u32 {
  store<u32>(distinct + (distinctCount << 2), id);
  store<u32>(at, base + ++distinctCount);
  return base + distinctCount - 1;
}

/** Keys by their position in the list of their transaction. */
export function gatherKeys(column: usize, width: u32, rows: usize, transactions: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) {
    const position = rowAt(keyStarts, rowAt(transactions, i)) + loadInt(column, width, rowAt(rows, i));
    store<u32>(out + (i << 2), indexOf(rowAt(keys, position)));
  }
}

/**
 * Keys of the accounts of instructions, by a number in the list of each row, or -1 for null. The column has the positions of the keys of these
 * lists, and `starts` the first account of each row.
 */
export function gatherAccountKeys(
  column: usize, width: u32, starts: usize, numbers: usize, rows: usize, transactions: usize, count: u32, out: usize, valid: usize,
): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const number = <i32>rowAt(numbers, i);
    if (number < 0) {
      store<u32>(out + (i << 2), 0);
      clearBit(valid, i);
      nullCount++;
      continue;
    }
    const position = loadInt(column, width, rowAt(starts, rowAt(rows, i)) + <u32>number);
    store<u32>(out + (i << 2), indexOf(rowAt(keys, rowAt(keyStarts, rowAt(transactions, i)) + position)));
  }
  return nullCount;
}

/** As `gatherKeys`, with positions that are stored plus one, and 0 for null. */
export function gatherKeysOrNull(
  column: usize, width: u32, rows: usize, transactions: usize, count: u32, out: usize, valid: usize,
): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const position = loadInt(column, width, rowAt(rows, i));
    if (position == 0) {
      store<u32>(out + (i << 2), 0);
      clearBit(valid, i);
      nullCount++;
    } else store<u32>(out + (i << 2), indexOf(rowAt(keys, rowAt(keyStarts, rowAt(transactions, i)) + position - 1)));
  }
  return nullCount;
}

/** The first static key of each row's transaction, or null for a transaction without keys. */
export function gatherPayers(staticCounts: usize, width: u32, transactions: usize, count: u32, out: usize, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    if (loadInt(staticCounts, width, transaction) == 0) {
      store<u32>(out + (i << 2), 0);
      clearBit(valid, i);
      nullCount++;
    } else store<u32>(out + (i << 2), indexOf(rowAt(keys, rowAt(keyStarts, transaction))));
  }
  return nullCount;
}

/** Keys by their id. */
export function gatherKeyIds(column: usize, width: u32, rows: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) store<u32>(out + (i << 2), indexOf(loadInt(column, width, rowAt(rows, i))));
}

/** Lists of positions of keys. `starts` has the first position of each row. */
export function gatherKeyLists(
  positions: usize, width: u32, starts: usize, rows: usize, transactions: usize, count: u32, outStarts: usize, out: usize,
): void {
  let at: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const base = keys + (rowAt(keyStarts, rowAt(transactions, i)) << 2);
    const end = rowAt(starts, row + 1);
    store<u32>(outStarts + (i << 2), at);
    for (let k = rowAt(starts, row); k < end; k++) store<u32>(out + (at++ << 2), indexOf(rowAt(base, loadInt(positions, width, k))));
  }
  store<u32>(outStarts + (count << 2), at);
}

/**
 * Writes a part of each transaction's list of keys: `length` keys after the first `skip + skipMore`. These are columns with a number
 * for each transaction; the address 0 stands for a column of zeros.
 */
export function gatherKeyRanges(
  skip: usize, skipMore: usize, lengths: usize, width: u32, transactions: usize, count: u32, outStarts: usize, out: usize,
): void {
  let at: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    let from = rowAt(keyStarts, transaction);
    if (skip != 0) from += loadInt(skip, width, transaction);
    if (skipMore != 0) from += loadInt(skipMore, width, transaction);
    const end = from + loadInt(lengths, width, transaction);
    store<u32>(outStarts + (i << 2), at);
    for (let k = from; k < end; k++) store<u32>(out + (at++ << 2), indexOf(rowAt(keys, k)));
  }
  store<u32>(outStarts + (count << 2), at);
}

/** Returns whether the text of a key of the batch is not in memory. */
export function hasMissingKey(): bool {
  for (let i: u32 = 0; i < distinctCount; i++) if (load<u32>(keyTable + (rowAt(distinct, i) << 2)) == 0) return true;
  return false;
}

/** Writes the texts of the keys of the batch without quotes behind those at `first`, and where each starts. Returns the length of all. */
export function copyKeyTexts(outStarts: usize, first: usize, length: u32): u32 {
  let out = first + length;
  for (let i: u32 = 0; i < distinctCount; i++) {
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    const text: usize = load<u32>(keyTable + (rowAt(distinct, i) << 2));
    const textLength = keyText(text);
    v128.store(out, v128.load(text, 1));
    v128.store(out, v128.load(text, 17), 16);
    v128.store(out, v128.load(text, 32), 31);
    out += textLength - 2;
  }
  store<u32>(outStarts + (distinctCount << 2), <u32>(out - first));
  return <u32>(out - first);
}

/** Copies the keys that a column refers to by their index, 32 bytes each. */
export function copyKeyBytes(from: usize, indexes: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++, out += 32) {
    const key = from + (rowAt(indexes, i) << 5);
    v128.store(out, v128.load(key));
    v128.store(out, v128.load(key, 16), 16);
  }
}
