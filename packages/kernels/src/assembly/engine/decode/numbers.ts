// Writes integers of the data as decimal digits. Integers that a JavaScript number does not represent exactly are in quotes.
import { writeUlong } from '../../../../../base/src/assembly/integers';

/** The largest integer that a JavaScript number and all integers below represent exactly. */
export const SAFE_MAX: u64 = 9007199254740991;

// @ts-ignore: decorator
@inline
export function writeUnsigned(value: u64, out: usize): usize {
  if (value <= SAFE_MAX) return writeUlong(value, out);
  store<u8>(out, 0x22);
  out = writeUlong(value, out + 1);
  store<u8>(out, 0x22);
  return out + 1;
}

// @ts-ignore: decorator
@inline
export function writeSigned(value: i64, out: usize): usize {
  if (value >= 0) return writeUnsigned(<u64>value, out);
  return writeNegative(0 - <u64>value, out);
}

function writeNegative(magnitude: u64, out: usize): usize {
  const isQuoted = magnitude > SAFE_MAX;
  if (isQuoted) store<u8>(out++, 0x22);
  store<u8>(out++, 0x2d);
  out = writeUlong(magnitude, out);
  if (isQuoted) store<u8>(out++, 0x22);
  return out;
}

/** Writes a big-endian integer of 2, 4 or 8 bytes, or an integer of 16 or 32 bytes. */
export function writeInteger(at: usize, byteCount: u32, isSigned: bool, isBigEndian: bool, out: usize): usize {
  if (byteCount > 8) return writeWide(at, byteCount, isSigned, isBigEndian, out);
  const shift = 64 - (byteCount << 3);
  // Bytes before the value are shifted out.
  const raised = byteCount == 8 ? bswap<u64>(load<u64>(at))
    : byteCount == 4 ? <u64>bswap<u32>(load<u32>(at)) << shift
    : <u64>bswap<u16>(load<u16>(at)) << shift;
  return isSigned ? writeSigned(<i64>raised >> shift, out) : writeUnsigned(raised >> shift, out);
}

/** The words of an integer, the lowest first. */
const words = memory.data(32, 16);
const BILLION: u64 = 1000000000;
/** Digits are written from the end of this buffer: 78 at most, a sign and two quotes. */
const digits = memory.data(96, 16);

function writeWide(at: usize, byteCount: u32, isSigned: bool, isBigEndian: bool, out: usize): usize {
  const wordCount = byteCount >> 2;
  for (let i: u32 = 0; i < wordCount; i++) {
    const word = isBigEndian ? bswap<u32>(load<u32>(at + ((wordCount - 1 - i) << 2))) : load<u32>(at + (i << 2));
    store<u32>(words + (i << 2), word);
  }
  const isNegative = isSigned && <i32>load<u32>(words + ((wordCount - 1) << 2)) < 0;
  if (isNegative) negate(wordCount);
  let used = wordCount;
  while (used > 0 && load<u32>(words + ((used - 1) << 2)) == 0) used--;
  if (used <= 2) {
    const value = used == 0 ? 0 : used == 1 ? <u64>load<u32>(words) : load<u64>(words);
    return isNegative ? writeNegative(value, out) : writeUnsigned(value, out);
  }
  let start: usize = digits + 95;
  store<u8>(start, 0x22);
  while (used > 0) {
    start = writeNine(divide(used), start);
    while (used > 0 && load<u32>(words + ((used - 1) << 2)) == 0) used--;
  }
  while (load<u8>(start) == 0x30) start++;
  if (isNegative) store<u8>(--start, 0x2d);
  store<u8>(--start, 0x22);
  const length = digits + 96 - start;
  memory.copy(out, start, length);
  return out + length;
}

function negate(wordCount: u32): void {
  let carry: u64 = 1;
  for (let i: u32 = 0; i < wordCount; i++) {
    // A complement by `~` would have 64 bits here.
    const sum = (<u64>load<u32>(words + (i << 2)) ^ 0xffffffff) + carry;
    store<u32>(words + (i << 2), <u32>sum);
    carry = sum >> 32;
  }
}

/** Divides the words by 10^9. Returns the rest. */
function divide(wordCount: u32): u32 {
  let rest: u64 = 0;
  for (let i = <i32>wordCount - 1; i >= 0; i--) {
    const value = (rest << 32) | <u64>load<u32>(words + (<u32>i << 2));
    store<u32>(words + (<u32>i << 2), <u32>(value / BILLION));
    rest = value % BILLION;
  }
  return <u32>rest;
}

/** Writes nine digits before `end`. Returns their start. */
function writeNine(value: u32, end: usize): usize {
  for (let i = 0; i < 9; i++) {
    store<u8>(--end, <u8>(0x30 + value % 10));
    value /= 10;
  }
  return end;
}
