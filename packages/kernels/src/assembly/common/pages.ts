// Encodes and decodes pages. A page has the values of several transactions in the columns of one section, ordered by transaction, then by
// column. Whole transactions often repeat earlier ones, so this order compresses best. docs/segment-format.md describes the bytes. The
// kernel knows no column by name: the host describes each with a descriptor.
//
// descriptor, 32 bytes: type · domain · adds · values · cursor · capacity · unit · last
//
//   type      one of the codes below
//   domain    which of the transaction's counts (below) is the number of values that the transaction has in this column
//   adds      domain + 1 whose count grows by the sum of the values; 0 if the column counts nothing
//   values    address of the column
//   cursor    the number of values read or written so far
//   capacity  how many values fit (decoding)
//   unit      for BYTES: bytes per value; for KEYS: the highest id before the row group
//   last      for DELTA: the previous value; for KEYS: the highest id so far
//
// The counts of a transaction are COUNTS_BYTES / 4 numbers of 32 bits, by domain. Sections are coded in an order in which every count is
// known before a column needs it.
import {
  CODING_BYTES as TYPE_BYTES, CODING_DELTA as TYPE_DELTA, CODING_INT as TYPE_INT, CODING_KEYS as TYPE_KEYS,
  CODING_LONG as TYPE_LONG, COUNTS_BYTES, DESCRIPTOR_ADDS, DESCRIPTOR_BYTES,
  DESCRIPTOR_CAPACITY, DESCRIPTOR_CODING, DESCRIPTOR_COUNT, DESCRIPTOR_DOMAIN, DESCRIPTOR_LAST, DESCRIPTOR_UNIT, DESCRIPTOR_VALUES,
} from '../../layout/columns';
import { copyShort } from './copy';
import { lzClearPages, lzCompressWith, lzDecompressWith } from './lz';
import { VARINT_CONTINUED, varintLength, varintValue } from './varint';

// @ts-ignore: decorator
@inline
function writeVarint(value: u64, out: usize): usize {
  while (value >= 0x80) {
    store<u8>(out++, <u8>value | 0x80);
    value >>= 7;
  }
  store<u8>(out++, <u8>value);
  return out;
}

// @ts-ignore: decorator
@inline
function foldSign(difference: i32): u32 {
  return (difference << 1) ^ (difference >> 31);
}

// @ts-ignore: decorator
@inline
function unfoldSign(folded: u32): u32 {
  return (folded >> 1) ^ (0 - (folded & 1));
}

function encodeInts(values: usize, count: u32, out: usize): usize {
  for (let i: u32 = 0; i < count; i++) {
    const value = load<u32>(values + (i << 2));
    if (value < 0x80) store<u8>(out++, <u8>value);
    else out = writeVarint(value, out);
  }
  return out;
}

function sumInts(values: usize, count: u32): u32 {
  let sum: u32 = 0;
  for (let i: u32 = 0; i < count; i++) sum += load<u32>(values + (i << 2));
  return sum;
}

function encodeDeltas(column: usize, values: usize, count: u32, out: usize): usize {
  let before = load<u32>(column, DESCRIPTOR_LAST);
  for (let i: u32 = 0; i < count; i++) {
    const value = load<u32>(values + (i << 2));
    out = writeVarint(foldSign(<i32>(value - before)), out);
    before = value;
  }
  store<u32>(column, before, DESCRIPTOR_LAST);
  return out;
}

function encodeKeys(column: usize, values: usize, count: u32, out: usize): usize {
  let highest = load<u32>(column, DESCRIPTOR_LAST);
  for (let i: u32 = 0; i < count; i++) {
    const id = load<u32>(values + (i << 2));
    // The first id of a segment follows 0xffffffff.
    if (<i32>id > <i32>highest) {
      const gap = id - highest - 1;
      if (gap == 0) store<u8>(out++, 0);
      else {
        store<u8>(out++, 1);
        out = writeVarint(gap, out);
      }
      highest = id;
    } else out = writeVarint(<u64>id + 2, out);
  }
  store<u32>(column, highest, DESCRIPTOR_LAST);
  return out;
}

/** A page can be decoded alone, because it starts with the number of new keys of the group before it. */
function beginPage(columns: usize, columnCount: u32, out: usize): usize {
  for (let i: u32 = 0; i < columnCount; i++) {
    const column = columns + i * DESCRIPTOR_BYTES;
    const type = load<u32>(column, DESCRIPTOR_CODING);
    if (type == TYPE_DELTA) store<u32>(column, 0, DESCRIPTOR_LAST);
    else if (type == TYPE_KEYS) {
      const newCount: u32 = load<u32>(column, DESCRIPTOR_LAST) - load<u32>(column, DESCRIPTOR_UNIT);
      out = writeVarint(newCount, out);
    }
  }
  return out;
}

/** Encodes the next page of a section at `out`: `count` transactions with their counts. Returns its end. */
export function encodePage(columns: usize, columnCount: u32, counts: usize, count: u32, out: usize): usize {
  out = beginPage(columns, columnCount, out);
  for (; count > 0; count--, counts += COUNTS_BYTES) {
    for (let i: u32 = 0; i < columnCount; i++) out = encodeColumn(columns + i * DESCRIPTOR_BYTES, counts, out);
  }
  return out;
}

function encodeColumn(column: usize, counts: usize, out: usize): usize {
  const count = load<u32>(counts + (load<u32>(column, DESCRIPTOR_DOMAIN) << 2));
  if (count == 0) return out;
  const type = load<u32>(column, DESCRIPTOR_CODING);
  const cursor = load<u32>(column, DESCRIPTOR_COUNT);
  const values: usize = load<u32>(column, DESCRIPTOR_VALUES);
  store<u32>(column, cursor + count, DESCRIPTOR_COUNT);
  if (type == TYPE_BYTES) {
    const unit = load<u32>(column, DESCRIPTOR_UNIT);
    copyShort(out, values + cursor * unit, count * unit);
    return out + count * unit;
  }
  if (type == TYPE_LONG) {
    const first = values + (cursor << 3);
    for (let row: u32 = 0; row < count; row++) out = writeVarint(load<u64>(first + (row << 3)), out);
    return out;
  }
  const first = values + (cursor << 2);
  addTo(column, counts, first, count);
  if (type == TYPE_INT) return encodeInts(first, count, out);
  return type == TYPE_DELTA ? encodeDeltas(column, first, count, out) : encodeKeys(column, first, count, out);
}

// @ts-ignore: decorator
@inline
function addTo(column: usize, counts: usize, values: usize, count: u32): void {
  const adds = load<u32>(column, DESCRIPTOR_ADDS);
  if (adds == 0) return;
  const at = counts + ((adds - 1) << 2);
  store<u32>(at, load<u32>(at) + sumInts(values, count));
}

/**
 * Compresses the consecutive pages of a section from `raw`, with their lengths in `lengths`, and replaces the lengths by those of the
 * compressed pages. Returns the end of the output.
 * Each page is copied behind the dictionary before it is compressed, so that distances reach into the dictionary. `window` is a copy of the
 * dictionary followed by space for the longest page. `dictionaryTable` comes from `lzBuildTable`.
 */
export function compressPages(
  raw: usize, lengths: usize, pageCount: u32, window: usize, dictionaryBytes: u32, dictionaryTable: usize, pageTable: usize, out: usize,
): usize {
  const page = window + dictionaryBytes;
  lzClearPages(pageTable);
  for (let i: u32 = 0; i < pageCount; i++) {
    const length = load<u32>(lengths + (i << 2));
    memory.copy(page, raw, length);
    const packed = lzCompressWith(window, dictionaryBytes, length, out, dictionaryTable, pageTable);
    store<u32>(lengths + (i << 2), packed);
    raw += length;
    out += packed;
  }
  return out;
}

let isMalformed: bool = false;
/** The bytes of decoded pages since the host last read this counter. */
let decodedBytes: u32 = 0;

export function takeDecodedBytes(): u32 {
  const bytes = decodedBytes;
  decodedBytes = 0;
  return bytes;
}

// @ts-ignore: decorator
@inline
function storeEight(word: u64, out: usize): void {
  const bytes = i64x2.splat(word);
  const words = i16x8.extend_low_i8x16_u(bytes);
  v128.store(out, i32x4.extend_low_i16x8_u(words));
  v128.store(out, i32x4.extend_high_i16x8_u(words), 16);
}

const intBytesMax: u32 = 5;

/**
 * Decodes `count` varints of 32 bits. The 8 bytes after `end` must be readable, and `out` needs space for 8 more values. Returns the end of
 * the input that was read.
 */
function decodeInts(at: usize, end: usize, count: u32, out: usize): usize {
  const last = out + (count << 2);
  while (out < last) {
    if (at >= end) return fail();
    const word = load<u64>(at);
    // Most values are below 128, so all such values at the start of the eight bytes are stored at once. Those after them are overwritten.
    const small = <u32>(ctz(word & VARINT_CONTINUED) >> 3);
    if (small > 0) {
      storeEight(word, out);
      const taken = min(small, <u32>((last - out) >> 2));
      at += taken;
      out += taken << 2;
      continue;
    }
    const length = varintLength(word);
    if (length > intBytesMax) return fail();
    store<u32>(out, <u32>varintValue(word, length));
    at += length;
    out += 4;
  }
  return at > end ? fail() : at;
}

/** Decodes `count` varints of 64 bits. The 8 bytes after `end` must be readable. */
function decodeLongs(at: usize, end: usize, count: u32, out: usize): usize {
  const last = out + (count << 3);
  for (; out < last; out += 8) {
    if (at >= end) return fail();
    const word = load<u64>(at);
    const length = varintLength(word);
    if (length > 8) {
      at = decodeLong(at, end, out);
      if (isMalformed) return 0;
    } else {
      store<u64>(out, varintValue(word, length));
      at += length;
    }
  }
  return at > end ? fail() : at;
}

/** Decodes a varint of any length up to 10 bytes. */
function decodeLong(at: usize, end: usize, out: usize): usize {
  let byte: u64 = load<u8>(at++);
  let value = byte & 0x7f;
  for (let shift: u64 = 7; byte >= 0x80; shift += 7) {
    if (at >= end || shift > 63) return fail();
    byte = load<u8>(at++);
    value |= (byte & 0x7f) << shift;
  }
  store<u64>(out, value);
  return at;
}

function fail(): usize {
  isMalformed = true;
  return 0;
}

function sumDeltas(column: usize, values: usize, count: u32): void {
  let value = load<u32>(column, DESCRIPTOR_LAST);
  for (let i: u32 = 0; i < count; i++) {
    const at = values + (i << 2);
    value += unfoldSign(load<u32>(at));
    store<u32>(at, value);
  }
  store<u32>(column, value, DESCRIPTOR_LAST);
}

let varintEnd: usize = 0;

/**
 * Decodes one varint of 32 bits. The 8 bytes after `end` must be readable. Sets `isMalformed` on failure, otherwise `varintEnd` to the end of
 * the varint.
 */
// @ts-ignore: decorator
@inline
function readVarint(at: usize, end: usize): u32 {
  const word = load<u64>(at);
  const length = varintLength(word);
  if (length > intBytesMax || at + length > end) {
    isMalformed = true;
    return 0;
  }
  varintEnd = at + length;
  return <u32>varintValue(word, length);
}

function decodeKeys(column: usize, at: usize, end: usize, count: u32, out: usize): usize {
  let highest = load<u32>(column, DESCRIPTOR_LAST);
  for (let i: u32 = 0; i < count; i++, out += 4) {
    const code = readVarint(at, end);
    if (isMalformed) return 0;
    at = varintEnd;
    if (code >= 2) {
      store<u32>(out, code - 2);
      continue;
    }
    if (code == 1) {
      highest += readVarint(at, end);
      if (isMalformed) return 0;
      at = varintEnd;
    }
    store<u32>(out, ++highest);
  }
  store<u32>(column, highest, DESCRIPTOR_LAST);
  return at;
}

function openPage(columns: usize, columnCount: u32, at: usize, end: usize): usize {
  for (let i: u32 = 0; i < columnCount; i++) {
    const column = columns + i * DESCRIPTOR_BYTES;
    const type = load<u32>(column, DESCRIPTOR_CODING);
    if (type == TYPE_DELTA) store<u32>(column, 0, DESCRIPTOR_LAST);
    else if (type == TYPE_KEYS) {
      store<u32>(column, load<u32>(column, DESCRIPTOR_UNIT) + readVarint(at, end), DESCRIPTOR_LAST);
      if (isMalformed) return 0;
      at = varintEnd;
    }
  }
  return at;
}

/** Decodes the values of one transaction in a column. Returns the start of the next one, or 0 if the bytes are malformed. */
function decodeColumn(column: usize, counts: usize, at: usize, end: usize): usize {
  const count = load<u32>(counts + (load<u32>(column, DESCRIPTOR_DOMAIN) << 2));
  if (count == 0) return at;
  const type = load<u32>(column, DESCRIPTOR_CODING);
  const cursor = load<u32>(column, DESCRIPTOR_COUNT);
  const values: usize = load<u32>(column, DESCRIPTOR_VALUES);
  // The difference is compared, because cursor + count overflows for a very large malformed count.
  if (count > load<u32>(column, DESCRIPTOR_CAPACITY) - cursor) return fail();
  store<u32>(column, cursor + count, DESCRIPTOR_COUNT);
  if (count == 1 && type == TYPE_INT && at < end) {
    // Most columns of transactions have one small value.
    const byte: u32 = load<u8>(at);
    if (byte < 0x80) {
      store<u32>(values + (cursor << 2), byte);
      const adds = load<u32>(column, DESCRIPTOR_ADDS);
      if (adds != 0) store<u32>(counts + ((adds - 1) << 2), load<u32>(counts + ((adds - 1) << 2)) + byte);
      return at + 1;
    }
  }
  if (type == TYPE_BYTES) {
    const unit = load<u32>(column, DESCRIPTOR_UNIT);
    const bytes = count * unit;
    if (bytes > <u32>(end - at)) return fail();
    memory.copy(values + cursor * unit, at, bytes);
    return at + bytes;
  }
  if (type == TYPE_LONG) return decodeLongs(at, end, count, values + (cursor << 3));
  const out = values + (cursor << 2);
  if (type == TYPE_KEYS) at = decodeKeys(column, at, end, count, out);
  else at = decodeInts(at, end, count, out);
  if (isMalformed) return 0;
  if (type == TYPE_DELTA) sumDeltas(column, out, count);
  addTo(column, counts, out, count);
  return at;
}

/** Rows of a skipped transaction are counted, so that positions in other columns stay correct. Their values are 0. */
function skipTransaction(columns: usize, columnCount: u32, counts: usize): bool {
  for (let i: u32 = 0; i < columnCount; i++) {
    const column = columns + i * DESCRIPTOR_BYTES;
    const count = load<u32>(counts + (load<u32>(column, DESCRIPTOR_DOMAIN) << 2));
    const cursor = load<u32>(column, DESCRIPTOR_COUNT);
    if (count > load<u32>(column, DESCRIPTOR_CAPACITY) - cursor) return false;
    const type = load<u32>(column, DESCRIPTOR_CODING);
    const unit: u32 = type == TYPE_BYTES ? load<u32>(column, DESCRIPTOR_UNIT) : type == TYPE_LONG ? 8 : 4;
    memory.fill(load<u32>(column, DESCRIPTOR_VALUES) + cursor * unit, 0, count * unit);
    store<u32>(column, cursor + count, DESCRIPTOR_COUNT);
  }
  return true;
}

/**
 * Decodes pages of one section in order and appends their values to the columns. Returns the number of the first malformed page, or -1.
 *
 *   pages   8 bytes each: address of the stored bytes, 0 for a page that is skipped · their length
 *   counts  64 bytes for each transaction, by domain
 *   window  the dictionary, followed by space for `rawBytesMax` bytes; 0 if pages are not compressed
 */
export function decodePages(
  columns: usize, columnCount: u32, pages: usize, pageTransactions: u32, counts: usize, transactionCount: u32, window: usize,
  dictionaryBytes: u32, rawBytesMax: u32,
): i32 {
  isMalformed = false;
  for (let page: u32 = 0, first: u32 = 0; first < transactionCount; page++, first += pageTransactions) {
    const last = min(first + pageTransactions, transactionCount);
    let at: usize = load<u32>(pages + (page << 3));
    if (at == 0) {
      for (let i = first; i < last; i++) if (!skipTransaction(columns, columnCount, counts + i * COUNTS_BYTES)) return page;
      continue;
    }
    let end = at + load<u32>(pages + (page << 3), 4);
    if (window != 0) {
      const raw = window + dictionaryBytes;
      const length = lzDecompressWith(at, <u32>(end - at), raw, rawBytesMax, window);
      if (length < 0) return page;
      at = raw;
      end = raw + <u32>length;
    }
    decodedBytes += <u32>(end - at);
    at = openPage(columns, columnCount, at, end);
    if (isMalformed) return page;
    for (let transaction = first; transaction < last; transaction++) {
      const transactionCounts = counts + transaction * COUNTS_BYTES;
      for (let i: u32 = 0; i < columnCount; i++) {
        at = decodeColumn(columns + i * DESCRIPTOR_BYTES, transactionCounts, at, end);
        if (isMalformed) return page;
      }
    }
    if (at != end) return page;
  }
  return -1;
}

/** Writes the sums of all counts by domain: 16 numbers at `out`. */
export function sumCounts(counts: usize, transactionCount: u32, out: usize): void {
  let a = i32x4.splat(0);
  let b = i32x4.splat(0);
  let c = i32x4.splat(0);
  let d = i32x4.splat(0);
  for (let i: u32 = 0; i < transactionCount; i++, counts += COUNTS_BYTES) {
    a = i32x4.add(a, v128.load(counts));
    b = i32x4.add(b, v128.load(counts, 16));
    c = i32x4.add(c, v128.load(counts, 32));
    d = i32x4.add(d, v128.load(counts, 48));
  }
  v128.store(out, a);
  v128.store(out, b, 16);
  v128.store(out, c, 32);
  v128.store(out, d, 48);
}

/**
 * Computes where the pages of each section start, from the table of their lengths: `pageCount` + 1 numbers for each section, or two for
 * sections after `pagedSections`. Returns whether the table is well formed.
 */
export function readPageStarts(
  table: usize, length: u32, sectionCount: u32, pagedSections: u32, pageCount: u32, out: usize,
): bool {
  const end = table + length;
  isMalformed = false;
  for (let section: u32 = 0; section < sectionCount; section++) {
    const count: u32 = section < pagedSections ? pageCount : 1;
    let start: u32 = 0;
    for (let page: u32 = 0; page < count; page++, out += 4) {
      store<u32>(out, start);
      const pageLength = readVarint(table, end);
      // If the sum of lengths overflows, the starts would not ascend.
      if (isMalformed || start + pageLength < start) return false;
      start += pageLength;
      table = varintEnd;
    }
    store<u32>(out, start);
    out += 4;
  }
  return table == end;
}
