// Scans JSON, 64 bytes at a time, for what `JSON.parse` would hide or lose: non-ASCII bytes, nesting beyond a limit, escapes of half a
// surrogate pair, and integers of 16 digits or more.
// 
//   bytes ─► masks of 64 bits: quotes, escaped, digits, openers, closers
//           inString = prefix xor of the unescaped quotes
//           a run of 16 digits outside strings ─► (start, end) of the whole run, into the table of runs
//           an object at depth 3 of 512 bytes or more ─► its (start, end), into the table of parts
// 
// The text is followed by 128 bytes that this code fills with spaces, and then by the tables.
import {
  SCAN_DELETE as flagDelete, SCAN_LONE_SURROGATE as flagLoneSurrogate, SCAN_NON_ASCII as flagNonAscii, SCAN_TOO_DEEP as flagTooDeep,
} from '../../layout/reading';

const paddingBytes: u32 = 128;
const digitsMin: i32 = 16;
/** The depth of the elements of a block's lists: below the block and the list. */
const partDepth: i32 = 3;
const partBytesMin: i32 = 512;


let text: usize = 0;
let textLength: i32 = 0;
/** The end of the scanned text. */
let scanned: i32 = 0;
let parts: usize = 0;
let runs: usize = 0;
let flags: i32 = 0;
let depth: i32 = 0;
let depthMax: i32 = 0;
/** All ones if a string is open at the end of the last 64 bytes. */
let openString: u64 = 0;
/** 1 if the last 64 bytes ended with the backslash that escapes the next byte. */
let escapedCarry: u64 = 0;
/** The number of digits at the end of the last 64 bytes, outside strings. */
let digitsCarry: i32 = 0;
/** The position of an escaped high surrogate. Far away if none is open. */
let highSurrogateAt: i32 = -100;
/** The start of the open object at depth 3, or -1. */
let partStart: i32 = -1;
let partsFound: i32 = 0;
let runsFound: i32 = 0;

/** Returns the memory for a text of this length with its tables. */
export function scanBytes(length: u32): u32 {
  return length + paddingBytes + 64 + partTableBytes(length) + runTableBytes(length);
}

function partTableBytes(length: u32): u32 {
  return (length / <u32>partBytesMin + 2) * 8;
}

function runTableBytes(length: u32): u32 {
  return (length / <u32>digitsMin + 2) * 8;
}

/** Returns the address of the parts: start and end, alternating. */
export function partsAddress(): usize {
  return parts;
}

export function partCount(): i32 {
  return partsFound;
}

/** Returns the address of the runs of digits: start and end, alternating. */
export function runsAddress(): usize {
  return runs;
}

export function runCount(): i32 {
  return runsFound;
}

export function scanFlags(): i32 {
  return flags;
}

function isHexOf(byte: i32, first: i32, last: i32): bool {
  const lower = byte | 0x20;
  return lower >= first && lower <= last;
}

/** Checks the escape whose backslash is at `at`. The two halves of a surrogate pair must be adjacent. */
function checkEscape(at: usize, position: i32): void {
  if (load<u8>(at, 1) != 0x75) return; // 'u'
  if ((load<u8>(at, 2) | 0x20) != 0x64) {
    // Not 'd', so not a surrogate. U+007F is reported to the caller, who uses it as a marker.
    if (load<u16>(at, 2) == 0x3030 && load<u8>(at, 4) == 0x37 && (load<u8>(at, 5) | 0x20) == 0x66) {
      flags |= flagDelete;
    }
    return;
  }
  const third: i32 = load<u8>(at, 3);
  if (third == 0x38 || third == 0x39 || isHexOf(third, 0x61, 0x62)) {
    const paired =
      load<u16>(at, 6) == 0x755c &&
      (load<u8>(at, 8) | 0x20) == 0x64 &&
      isHexOf(load<u8>(at, 9), 0x63, 0x66);
    if (paired) highSurrogateAt = position;
    else flags |= flagLoneSurrogate;
  } else if (isHexOf(third, 0x63, 0x66)) {
    if (highSurrogateAt + 6 != position) flags |= flagLoneSurrogate;
  }
}

/** Returns a mask of the escaped bytes. Backslashes are rare, so they are handled one by one. */
function escapedBytes(backslashes: u64, at: usize, position: i32): u64 {
  let escaped: u64 = escapedCarry;
  let starters: u64 = backslashes & ~escaped;
  escapedCarry = 0;
  while (starters != 0) {
    const bit = ctz(starters);
    checkEscape(at + (bit as usize), position + (bit as i32));
    if (bit == 63) {
      escapedCarry = 1;
      break;
    }
    escaped |= (1 as u64) << (bit + 1);
    starters &= ~((3 as u64) << bit);
  }
  return escaped;
}

/** Handles brackets one by one. Only called if the 64 bytes may exceed the limit, or open or close an element of a list. */
function walkDepth(openers: u64, closers: u64, position: i32): void {
  let brackets: u64 = openers | closers;
  while (brackets != 0) {
    const bit = ctz(brackets);
    const at = position + (bit as i32);
    if (((openers >> bit) & 1) != 0) {
      depth++;
      if (depth > depthMax) flags |= flagTooDeep;
      if (depth == partDepth) partStart = isBrace(at - position) ? at : -1;
    } else {
      if (depth == partDepth && partStart >= 0) notePart(at + 1);
      depth--;
    }
    brackets &= brackets - 1;
  }
}

/** The current 64 bytes. */
let walked: usize = 0;

function isBrace(offset: i32): bool {
  return load<u8>(walked + (offset as usize)) == 0x7b;
}

function notePart(end: i32): void {
  if (end - partStart >= partBytesMin) {
    const entry = parts + ((partsFound as usize) << 3);
    store<i32>(entry, partStart);
    store<i32>(entry, end, 4);
    partsFound++;
  }
  partStart = -1;
}

function noteRun(start: i32, end: i32): void {
  const entry = runs + ((runsFound as usize) << 3);
  store<i32>(entry, start);
  store<i32>(entry, end, 4);
  runsFound++;
}

/**
 * Finds runs of at least 16 digits. A run is recorded when it ends, so one that crosses 64 bytes or a piece is recorded once. `position` is
 * that of the mask's first byte.
 */
function findRuns(digits: u64, position: i32): void {
  const leading: i32 = digits == u64.MAX_VALUE ? 64 : (ctz(~digits) as i32);
  if (leading < 64 && digitsCarry + leading >= digitsMin) {
    noteRun(position - digitsCarry, position + leading);
  }
  if (leading == 64) {
    digitsCarry += 64;
    return;
  }
  digitsCarry = clz(~digits) as i32;
  // Runs that begin after the first non-digit and end before the last non-digit.
  let inner: u64 = (digits >> leading) << leading;
  if (digitsCarry > 0) inner &= u64.MAX_VALUE >> digitsCarry;
  let found = inner & (inner >> 1);
  found &= found >> 2;
  found &= found >> 4;
  found &= found >> 8;
  while (found != 0) {
    const start = ctz(found) as i32;
    const length = ctz(~(inner >> start)) as i32;
    noteRun(position + start, position + start + length);
    found &= ~((((1 as u64) << length) - 1) << start);
  }
}

function mask(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    (i8x16.bitmask(a) as u64) |
    ((i8x16.bitmask(b) as u64) << 16) |
    ((i8x16.bitmask(c) as u64) << 32) |
    ((i8x16.bitmask(d) as u64) << 48)
  );
}

function equal(a: v128, b: v128, c: v128, d: v128, byte: v128): u64 {
  return mask(i8x16.eq(a, byte), i8x16.eq(b, byte), i8x16.eq(c, byte), i8x16.eq(d, byte));
}

function digitMask(a: v128, b: v128, c: v128, d: v128): u64 {
  const zero = i8x16.splat(0x30);
  const ten = i8x16.splat(10);
  return mask(
    i8x16.lt_u(i8x16.sub(a, zero), ten),
    i8x16.lt_u(i8x16.sub(b, zero), ten),
    i8x16.lt_u(i8x16.sub(c, zero), ten),
    i8x16.lt_u(i8x16.sub(d, zero), ten),
  );
}

function prefixXor(bits: u64): u64 {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  return bits ^ (bits << 32);
}

/** Starts a text of `length` bytes at `start`. */
export function beginScan(start: usize, length: u32, limit: i32): void {
  text = start;
  textLength = <i32>length;
  scanned = 0;
  parts = (start + length + paddingBytes + 63) & ~63;
  runs = parts + partTableBytes(length);
  flags = 0;
  depth = 0;
  depthMax = limit;
  openString = 0;
  escapedCarry = 0;
  digitsCarry = 0;
  highSurrogateAt = -100;
  partStart = -1;
  partsFound = 0;
  runsFound = 0;
}

/**
 * Scans up to `end`, a multiple of 64 or the end of the text. The 64 bytes after `end` must be present. The caller can therefore copy the
 * text in pieces, each of which is scanned while it is in the processor's cache.
 */
export function scanTo(end: i32): void {
  if (end == textLength) memory.fill(text + <usize>textLength, 0x20, paddingBytes);
  const quote = i8x16.splat(0x22);
  const backslash = i8x16.splat(0x5c);
  const caseBit = i8x16.splat(0x20);
  const opener = i8x16.splat(0x7b);
  const closer = i8x16.splat(0x7d);
  const deleteByte = i8x16.splat(0x7f);
  let high = i8x16.splat(0);
  let deletes = i8x16.splat(0);
  for (let position = scanned; position < end; position += 64) {
    const at = text + (position as usize);
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    high = v128.or(high, v128.or(v128.or(a, b), v128.or(c, d)));
    deletes = v128.or(
      deletes,
      v128.or(
        v128.or(i8x16.eq(a, deleteByte), i8x16.eq(b, deleteByte)),
        v128.or(i8x16.eq(c, deleteByte), i8x16.eq(d, deleteByte)),
      ),
    );
    const backslashes = equal(a, b, c, d, backslash);
    let quotes = equal(a, b, c, d, quote);
    if ((backslashes | escapedCarry) != 0) {
      quotes &= ~escapedBytes(backslashes, at, position);
    }
    const inString = prefixXor(quotes) ^ openString;
    openString = ((inString as i64) >> 63) as u64;
    // '[' and ']' are '{' and '}' without the case bit.
    const al = v128.or(a, caseBit);
    const bl = v128.or(b, caseBit);
    const cl = v128.or(c, caseBit);
    const dl = v128.or(d, caseBit);
    const openers = equal(al, bl, cl, dl, opener) & ~inString;
    const closers = equal(al, bl, cl, dl, closer) & ~inString;
    const openCount = popcnt(openers) as i32;
    const closeCount = popcnt(closers) as i32;
    if (depth + openCount > depthMax || depth - closeCount < partDepth) {
      walked = at;
      walkDepth(openers, closers, position);
    } else {
      depth += openCount - closeCount;
    }
    findRuns(digitMask(a, b, c, d) & ~inString, position);
  }
  scanned = end;
  if (i8x16.bitmask(high) != 0) flags |= flagNonAscii;
  if (v128.any_true(deletes)) flags |= flagDelete;
  if (end == textLength && digitsCarry >= digitsMin) noteRun(end - digitsCarry, end);
}
