// A strict cursor over JSON text: it accepts only valid JSON, and texts without escapes. For anything else it returns false, and the caller
// leaves the text to `JSON.parse`. 64 bytes after the text are readable, so that reading slightly beyond its end is safe.

const depthMax: i32 = 64;

/** The position of the cursor, and the end of the text. */
export let at: usize = 0;
export let end: usize = 0;
let depth: i32 = 0;

export function openJson(start: usize, length: u32): void {
  at = start;
  end = start + length;
  depth = 0;
}

export function moveTo(pointer: usize): void {
  at = pointer;
}

export function skipSpace(): void {
  while (at < end) {
    const byte = load<u8>(at);
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) return;
    at++;
  }
}

// @ts-ignore: decorator
@inline
export function take(byte: u8): bool {
  // Nodes write no white space.
  if (at < end && load<u8>(at) == byte) {
    at++;
    return true;
  }
  return takeAfterSpace(byte);
}

function takeAfterSpace(byte: u8): bool {
  skipSpace();
  if (at >= end || load<u8>(at) != byte) return false;
  at++;
  return true;
}

/** Returns the position of the next quote, backslash or control character from `start` on. */
// @ts-ignore: decorator
@inline
function findStop(start: usize): usize {
  let pointer = start;
  while (true) {
    const bytes = v128.load(pointer);
    const stops = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
        i8x16.lt_u(bytes, i8x16.splat(0x20)),
      ),
    );
    if (stops != 0) return pointer + <usize>ctz(stops);
    pointer += 16;
    if (pointer >= end) return pointer;
  }
}

/** Skips a text without escapes. The cursor ends after its closing quote. */
export function skipText(): bool {
  if (!take(0x22)) return false;
  const stop = findStop(at);
  if (stop >= end || load<u8>(stop) != 0x22) return false;
  at = stop + 1;
  return true;
}

export function skipDigits(): bool {
  const start = at;
  while (at < end && load<u8>(at) - 0x30 < 10) at++;
  return at > start;
}

function skipNumber(): bool {
  if (at < end && load<u8>(at) == 0x2d) at++;
  if (at < end && load<u8>(at) == 0x30) at++;
  else if (!skipDigits()) return false;
  if (at < end && load<u8>(at) == 0x2e) {
    at++;
    if (!skipDigits()) return false;
  }
  if (at < end && (load<u8>(at) | 0x20) == 0x65) {
    at++;
    if (at < end && (load<u8>(at) == 0x2b || load<u8>(at) == 0x2d)) at++;
    if (!skipDigits()) return false;
  }
  return true;
}

/** Skips `null`, `true` or `false`. The input is padded, so reading a whole word is safe. */
function skipWord(): bool {
  const word = load<u32>(at);
  if (word == 0x6c6c756e || word == 0x65757274) at += 4;
  else if (word == 0x736c6166 && load<u8>(at, 4) == 0x65) at += 5;
  else return false;
  return at <= end;
}

export function skipValue(): bool {
  skipSpace();
  if (at >= end) return false;
  const byte = load<u8>(at);
  if (byte == 0x22) return skipText();
  if (byte == 0x7b) return skipObject();
  if (byte == 0x5b) return skipArray();
  if (byte == 0x2d || byte - 0x30 < 10) return skipNumber();
  return skipWord();
}

function skipArray(): bool {
  if (!take(0x5b)) return false;
  if (take(0x5d)) return true;
  if (++depth > depthMax) return false;
  do {
    if (!skipValue()) return false;
  } while (take(0x2c));
  depth--;
  return take(0x5d);
}

function skipObject(): bool {
  if (!take(0x7b)) return false;
  if (take(0x7d)) return true;
  if (++depth > depthMax) return false;
  do {
    if (!skipText() || !take(0x3a) || !skipValue()) return false;
  } while (take(0x2c));
  depth--;
  return take(0x7d);
}

/** The last key that was read, without quotes. */
export let keyStart: usize = 0;
export let keyLength: i32 = 0;

export function readKey(): bool {
  skipSpace();
  keyStart = at + 1;
  if (!skipText()) return false;
  keyLength = (at - 1 - keyStart) as i32;
  return take(0x3a);
}

/** The last text that was read, without quotes. */
export let textStart: usize = 0;
export let textLength: u32 = 0;

/** Reads a text without escapes. */
export function readText(): bool {
  skipSpace();
  textStart = at + 1;
  if (!skipText()) return false;
  textLength = <u32>(at - 1 - textStart);
  return true;
}

/** Whether the last text has an escape. */
export let hasEscape: bool = false;

/** Reads a text whose escapes are in the form that `JSON.stringify` writes, so that its bytes can be output unchanged. */
export function readEscapedText(): bool {
  hasEscape = false;
  if (!take(0x22)) return false;
  textStart = at;
  let pointer = at;
  while (true) {
    pointer = findStop(pointer);
    if (pointer >= end) return false;
    const stop: u32 = load<u8>(pointer);
    if (stop == 0x22) {
      textLength = <u32>(pointer - textStart);
      at = pointer + 1;
      return true;
    }
    if (stop != 0x5c || !isShortEscape(load<u8>(pointer, 1))) return false;
    hasEscape = true;
    pointer += 2;
  }
}

/** Returns whether the character is one of `"\\bfnrt`. */
function isShortEscape(code: u32): bool {
  return code == 0x22 || code == 0x5c || code == 0x62 || code == 0x66 || code == 0x6e || code == 0x72 || code == 0x74;
}

/** The last integer that was read. */
export let integer: u64 = 0;

/** Reads an integer from 0 to 2^64-1 in plain notation. */
export function readUlong(): bool {
  skipSpace();
  const start = at;
  const digits = load<u64>(start) ^ 0x3030303030303030;
  // The highest bit of the first byte that is not a digit, and possibly of bytes after it.
  const others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
  if (others == 0) return readLong(start, eightDigits(digits));
  const length = <usize>(ctz(others) >> 3);
  if (length == 0) return false;
  at = start + length;
  integer = eightDigits(digits << (64 - (<u64>length << 3)));
  return at <= end && isIntegerEnd() && (length == 1 || load<u8>(start) != 48);
}

/** Returns the number whose digits are the bytes, highest first. */
// @ts-ignore: decorator
@inline
function eightDigits(digits: u64): u64 {
  const twos = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
  const fours = (twos * 100 + (twos >> 16)) & 0x0000ffff0000ffff;
  return (fours * 10000 + (fours >> 32)) & 0xffffffff;
}

/** Reads a number of more than eight digits. The first eight are known. */
function readLong(start: usize, first: u64): bool {
  let pointer = start + 8;
  let value = first;
  for (let digit = <u32>load<u8>(pointer) - 48; digit < 10; digit = <u32>load<u8>(++pointer) - 48) {
    if (pointer - start >= 19) return readLongest(start);
    value = value * 10 + digit;
  }
  at = pointer;
  integer = value;
  return pointer <= end && isIntegerEnd() && load<u8>(start) != 48;
}

/** Returns whether the digits before the cursor are a whole number, without fraction and exponent. */
// @ts-ignore: decorator
@inline
function isIntegerEnd(): bool {
  const next: u32 = load<u8>(at);
  return at >= end || (next != 0x2e && (next | 0x20) != 0x65);
}

/** Reads twenty digits, which may exceed 64 bits. */
function readLongest(start: usize): bool {
  let value: u64 = 0;
  for (at = start; at < start + 19; at++) value = value * 10 + (<u64>load<u8>(at) - 48);
  const digit: u64 = <u64>load<u8>(at) - 48;
  const isMore = <u32>load<u8>(++at) - 48 < 10;
  // 18446744073709551615
  const fits = value < 1844674407370955161 || (value == 1844674407370955161 && digit <= 5);
  integer = value * 10 + digit;
  return fits && !isMore && at <= end && isIntegerEnd() && load<u8>(start) != 48;
}

/** Reads an index of a list of a transaction: an integer from 0 to 65535, usually of one or two digits. */
export function readIndex(): bool {
  const first = <u32>load<u8>(at) - 48;
  const second: u32 = load<u8>(at, 1);
  if (first < 10 && isListMark(second)) {
    integer = first;
    at++;
    return at < end;
  }
  // A leading zero is not valid.
  if (first - 1 < 9 && second - 48 < 10 && isListMark(load<u8>(at, 2))) {
    integer = first * 10 + (second - 48);
    at += 2;
    return at < end;
  }
  return readCount(0xffff);
}

// @ts-ignore: decorator
@inline
function isListMark(byte: u32): bool {
  return byte == 0x2c || byte == 0x5d;
}

/** Reads an integer from 0 to `max`. */
export function readCount(max: u64): bool {
  return readUlong() && integer <= max;
}

/** Skips `null` if it is next. */
export function takeNull(): bool {
  skipSpace();
  if (at + 4 > end || load<u32>(at) != 0x6c6c756e) return false;
  at += 4;
  return true;
}
