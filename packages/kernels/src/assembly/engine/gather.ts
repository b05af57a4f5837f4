// Gathers the values of selected rows into the buffers of Arrow columns: values, starts of ranges, and bits. `rows` has the row of each
// selected record in its columns, `transactions` the transaction that it belongs to. A function that may find nulls clears the bits of
// these rows in `valid`, in which all bits are set before, and returns their number.
import { base58Encode } from '../common/base58';
import { keyText } from '../common/texts';
import { loadInt, loadLong } from './columns';
import { keyStarts, keyTable, keys } from './write-context';

/** The text `null`, which stands for a null value. */
const NULL_TEXT: u32 = 0x6c6c756e;

// @ts-ignore: decorator
@inline
function rowAt(list: usize, i: u32): u32 {
  return load<u32>(list + (i << 2));
}

// @ts-ignore: decorator
@inline
function clearBit(bits: usize, i: u32): void {
  const at = bits + (i >> 3);
  store<u8>(at, load<u8>(at) & ~(<u8>1 << <u8>(i & 7)));
}

// @ts-ignore: decorator
@inline
function setBit(bits: usize, i: u32, value: bool): void {
  const at = bits + (i >> 3);
  store<u8>(at, load<u8>(at) | (<u8>value << <u8>(i & 7)));
}

/**
 * Appends the flagged rows of the transactions from `first` up to `end` to the lists. `starts` has the first row of each transaction, or is
 * 0 if a row is a transaction. Returns the number of rows in the lists.
 */
export function collectRows(
  flags: usize, starts: usize, marks: usize, bit: u32, first: u32, end: u32,
  rows: usize, transactions: usize, count: u32,
): u32 {
  for (let transaction = first; transaction < end; transaction++) {
    if ((load<u8>(marks + transaction) & bit) == 0) continue;
    const rowFirst = starts == 0 ? transaction : rowAt(starts, transaction);
    const rowEnd = starts == 0 ? transaction + 1 : rowAt(starts, transaction + 1);
    for (let row = rowFirst; row < rowEnd; row++) {
      if (load<u8>(flags + row) == 0) continue;
      store<u32>(rows + (count << 2), row);
      store<u32>(transactions + (count << 2), transaction);
      count++;
    }
  }
  return count;
}

/** As `collectRows`, for rows that belong to blocks. */
export function collectBlockRows(flags: usize, first: u32, end: u32, rows: usize, count: u32): u32 {
  for (let row = first; row < end; row++) {
    if (load<u8>(flags + row) == 0) continue;
    store<u32>(rows + (count << 2), row);
    count++;
  }
  return count;
}

/** Adds `plus` to each value. */
export function gatherInts(column: usize, width: u32, plus: u32, rows: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) store<u32>(out + (i << 2), loadInt(column, width, rowAt(rows, i)) + plus);
}

export function gatherLongs(column: usize, width: u32, rows: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) store<u64>(out + (i << 3), loadLong(column, width, rowAt(rows, i)));
}

/** Integers that are stored plus one, with 0 for null. */
export function gatherIntsOrNull(column: usize, width: u32, rows: usize, count: u32, out: usize, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const value = loadInt(column, width, rowAt(rows, i));
    store<u32>(out + (i << 2), value == 0 ? 0 : value - 1);
    if (value != 0) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

/** Finds the rows whose null flag has the bit. `width` is the number of bytes between two flags. */
export function gatherNulls(flags: usize, width: u32, bit: u32, rows: usize, count: u32, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    if ((load<u8>(flags + rowAt(rows, i) * width) & bit) == 0) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

/** `out` has only zeros before. */
export function gatherFlags(column: usize, width: u32, mask: u32, rows: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) setBit(out, i, (loadInt(column, width, rowAt(rows, i)) & mask) != 0);
}

/** The outcome of each row's transaction; an unknown one is null. `out` has only zeros before. */
export function gatherOutcomes(column: usize, width: u32, rows: usize, count: u32, out: usize, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const outcome = loadInt(column, width, rowAt(rows, i)) & 3;
    setBit(out, i, outcome == 1);
    if (outcome != 2) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

// The distinct keys of a batch: for each id its index plus one, or 0, and the list of the ids.
let indexes: usize = 0;
let distinct: usize = 0;
let distinctCount: u32 = 0;

export function beginKeys(indexTable: usize, list: usize): void {
  indexes = indexTable;
  distinct = list;
  distinctCount = 0;
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
  store<u32>(at, ++distinctCount);
  return distinctCount - 1;
}

/** Keys by their position in the list of their transaction. */
export function gatherKeys(column: usize, width: u32, rows: usize, transactions: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) {
    const position = rowAt(keyStarts, rowAt(transactions, i)) + loadInt(column, width, rowAt(rows, i));
    store<u32>(out + (i << 2), indexOf(rowAt(keys, position)));
  }
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

/** Writes the texts of the keys of the batch without quotes, and where each starts. Returns the length of all. */
export function copyKeyTexts(outStarts: usize, out: usize): u32 {
  const first = out;
  for (let i: u32 = 0; i < distinctCount; i++) {
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    const text: usize = load<u32>(keyTable + (rowAt(distinct, i) << 2));
    const length = keyText(text);
    v128.store(out, v128.load(text, 1));
    v128.store(out, v128.load(text, 17), 16);
    v128.store(out, v128.load(text, 32), 31);
    out += length - 2;
  }
  store<u32>(outStarts + (distinctCount << 2), <u32>(out - first));
  return <u32>(out - first);
}

/** Returns the number of values in the ranges of the rows, as a number of the host. */
export function sumOfRanges(starts: usize, rows: usize, count: u32): f64 {
  let sum: u64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    sum += rowAt(starts, row + 1) - rowAt(starts, row);
  }
  return <f64>sum;
}

/** Copies the bytes of each row. `scale` is the number of bytes of a value, as a power of two. */
export function gatherRanges(bytes: usize, starts: usize, scale: u32, rows: usize, count: u32, outStarts: usize, out: usize): void {
  let at: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const start = rowAt(starts, row);
    const length = rowAt(starts, row + 1) - start;
    store<u32>(outStarts + (i << 2), at);
    memory.copy(out + (at << scale), bytes + (start << scale), length << scale);
    at += length;
  }
  store<u32>(outStarts + (count << 2), at);
}

/** Copies texts that are stored as in JSON, without their quotes, and replaces escape sequences. */
export function gatherEscaped(bytes: usize, starts: usize, rows: usize, count: u32, outStarts: usize, out: usize): void {
  const first = out;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    out = unescape(bytes + rowAt(starts, row), bytes + rowAt(starts, row + 1), out);
  }
  store<u32>(outStarts + (count << 2), <u32>(out - first));
}

/**
 * Copies texts of JSON by their codes; the text `null` is a null. `isText` says whether they are JSON strings, whose quotes are removed.
 */
export function gatherCoded(
  codes: usize, width: u32, bytes: usize, starts: usize, isText: bool, rows: usize, count: u32, outStarts: usize, out: usize, valid: usize,
): u32 {
  const first = out;
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const code = loadInt(codes, width, rowAt(rows, i));
    const from = bytes + rowAt(starts, code);
    const end = bytes + rowAt(starts, code + 1);
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    if (end - from == 4 && load<u32>(from) == NULL_TEXT) {
      clearBit(valid, i);
      nullCount++;
    } else if (isText) out = unescape(from + 1, end - 1, out);
    else {
      memory.copy(out, from, end - from);
      out += end - from;
    }
  }
  store<u32>(outStarts + (count << 2), <u32>(out - first));
  return nullCount;
}

/** Clears the bits of rows whose text is `null`. */
export function gatherNullTexts(bytes: usize, starts: usize, rows: usize, count: u32, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const start = rowAt(starts, row);
    if (rowAt(starts, row + 1) - start != 4 || load<u32>(bytes + start) != NULL_TEXT) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

/** Copies a JSON string without its quotes and replaces its escape sequences. Returns the end of the output. */
function unescape(from: usize, end: usize, out: usize): usize {
  while (from < end) {
    // Up to 16 bytes are copied at once. Those after a backslash are wrong, and the next copy overwrites them.
    const some = v128.load(from);
    v128.store(out, some);
    const mask = i8x16.bitmask(i8x16.eq(some, i8x16.splat(0x5c)));
    let plain: usize = mask == 0 ? 16 : ctz(mask);
    if (plain > end - from) plain = end - from;
    from += plain;
    out += plain;
    if (from >= end || plain == 16) continue;
    const code = load<u8>(from, 1);
    if (code == 0x75) {
      out = writeUtf8(readHex4(from + 2), out);
      from += 6;
    } else {
      store<u8>(out++, controlOf(code));
      from += 2;
    }
  }
  return out;
}

/** The character of an escape sequence of two characters. */
function controlOf(code: u8): u8 {
  switch (code) {
    case 0x62: return 0x08;
    case 0x66: return 0x0c;
    case 0x6e: return 0x0a;
    case 0x72: return 0x0d;
    case 0x74: return 0x09;
    default: return code;
  }
}

function readHex4(at: usize): u32 {
  let value: u32 = 0;
  for (let i: u32 = 0; i < 4; i++) {
    const digit: u32 = load<u8>(at + i);
    value = (value << 4) | (digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57);
  }
  return value;
}

/** Stored texts have escape sequences only for control characters, so a code is never half of a pair. */
function writeUtf8(code: u32, out: usize): usize {
  if (code < 0x80) {
    store<u8>(out, code);
    return out + 1;
  }
  if (code < 0x800) {
    store<u8>(out, 0xc0 | (code >> 6));
    store<u8>(out, 0x80 | (code & 0x3f), 1);
    return out + 2;
  }
  store<u8>(out, 0xe0 | (code >> 12));
  store<u8>(out, 0x80 | ((code >> 6) & 0x3f), 1);
  store<u8>(out, 0x80 | (code & 0x3f), 2);
  return out + 3;
}

/** The first bytes of the data in hex, or null if the data is shorter. */
export function gatherHex(
  bytes: usize, starts: usize, byteCount: u32, rows: usize, count: u32, outStarts: usize, out: usize, valid: usize,
): u32 {
  const first = out;
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const start = rowAt(starts, row);
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    if (rowAt(starts, row + 1) - start < byteCount) {
      clearBit(valid, i);
      nullCount++;
      continue;
    }
    store<u16>(out, 0x7830);
    out += 2;
    for (let k: u32 = 0; k < byteCount; k++, out += 2) {
      const byte: u32 = load<u8>(bytes + start + k);
      store<u8>(out, hexDigit(byte >> 4));
      store<u8>(out, hexDigit(byte & 15), 1);
    }
  }
  store<u32>(outStarts + (count << 2), <u32>(out - first));
  return nullCount;
}

// @ts-ignore: decorator
@inline
function hexDigit(value: u32): u32 {
  return value < 10 ? value + 0x30 : value + 0x57;
}

/**
 * The first signature of each row's transaction, as text, or as 64 bytes if `isBinary`. It is null for a transaction without signatures. `starts` has the first
 * signature of each transaction.
 */
export function gatherFirstSignatures(
  bytes: usize, starts: usize, transactions: usize, count: u32, isBinary: bool, outStarts: usize, out: usize, valid: usize,
): u32 {
  const first = out;
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    const signature = rowAt(starts, transaction);
    const isNull = signature == rowAt(starts, transaction + 1);
    store<u32>(outStarts + (i << 2), <u32>(out - first));
    if (isNull) {
      clearBit(valid, i);
      nullCount++;
    }
    if (isBinary) {
      if (isNull) memory.fill(out, 0, 64);
      else memory.copy(out, bytes + (<usize>signature << 6), 64);
      out += 64;
    } else if (!isNull) {
      // Rows of one transaction follow each other and have the same signature.
      if (i > 0 && rowAt(transactions, i - 1) == transaction) out = copyBefore(outStarts, i, first, out);
      else out = base58Encode(bytes + (<usize>signature << 6), 64, out);
    }
  }
  store<u32>(outStarts + (count << 2), <u32>(out - first));
  return nullCount;
}

/** Copies the text of the row before row `i`. */
function copyBefore(outStarts: usize, i: u32, first: usize, out: usize): usize {
  const start = rowAt(outStarts, i - 1);
  const length = rowAt(outStarts, i) - start;
  memory.copy(out, first + start, length);
  return out + length;
}

/** All signatures of each row's transaction as texts. The first ones are copied from `known`, because encoding is slow. */
export function gatherSignatureLists(
  bytes: usize, starts: usize, transactions: usize, count: u32, knownStarts: usize, known: usize, outStarts: usize, textStarts: usize, out: usize,
): void {
  const first = out;
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    const start = rowAt(starts, transaction);
    const end = rowAt(starts, transaction + 1);
    store<u32>(outStarts + (i << 2), total);
    for (let signature = start; signature < end; signature++) {
      store<u32>(textStarts + (total++ << 2), <u32>(out - first));
      if (signature == start) {
        const length = rowAt(knownStarts, i + 1) - rowAt(knownStarts, i);
        memory.copy(out, known + rowAt(knownStarts, i), length);
        out += length;
      } else out = base58Encode(bytes + (<usize>signature << 6), 64, out);
    }
  }
  store<u32>(outStarts + (count << 2), total);
  store<u32>(textStarts + (total << 2), <u32>(out - first));
}

/**
 * The positions of instructions in the call tree, from their texts. `instructionStarts` has the first instruction of each transaction if
 * `rows` are counted from there, or is 0.
 */
export function gatherPaths(
  texts: usize, textStarts: usize, column: usize, width: u32, instructionStarts: usize,
  rows: usize, transactions: usize, count: u32, outStarts: usize, out: usize,
): u32 {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    let row = rowAt(rows, i);
    if (instructionStarts != 0) row = rowAt(instructionStarts, rowAt(transactions, i)) + loadInt(column, width, row);
    store<u32>(outStarts + (i << 2), total);
    const end = texts + rowAt(textStarts, row + 1);
    let value: u32 = 0;
    // The text is a list of numbers in brackets. Each number ends with a comma or the last bracket.
    for (let at = texts + rowAt(textStarts, row) + 1; at < end; at++) {
      const digit: u32 = load<u8>(at) - 0x30;
      if (digit < 10) value = value * 10 + digit;
      else {
        store<u32>(out + (total++ << 2), value);
        value = 0;
      }
    }
  }
  store<u32>(outStarts + (count << 2), total);
  return total;
}
