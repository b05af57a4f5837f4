// The metadata of a transaction as the protobuf `TransactionStatusMeta`.
import { addressOfKey, addressOfText } from './address-table';
import { addAmount, addSide, beginBinaryBalances } from './balances';
import { readCall } from './binary-message';
import {
  at, field, FIELD, isUtf8, MALFORMED_FIELD, nextField, openBytes, partLength, partStart, readVarint, value, WIRE_BYTES, WIRE_VARINT,
  wireType, end,
} from './bytes';
import { beginGroup, endGroup } from './calls';
import { addLine, beginLines, lineCount } from './log-walk';

const loadedCountMax: u32 = 256;
const escapeBytesMax: u32 = 64 << 10;

/** The loaded addresses. */
export const loadedWritable = memory.data(256 * 4, 4);
export const loadedReadonly = memory.data(256 * 4, 4);
export let loadedWritableCount: u32 = 0;
export let loadedReadonlyCount: u32 = 0;
export let metaFee: u64 = 0;
export let hasMetaUnits: bool = false;
export let metaUnits: u64 = 0;
/** The bincode of the error, or a length of 0. */
export let errorStart: usize = 0;
export let errorLength: u32 = 0;

/** Lines with escapes, as output JSON. */
let escapes: usize = 0;
let escapesEnd: usize = 0;

export const BINARY_META_BYTES: u32 = escapeBytesMax + 64;

export function placeBinaryMeta(base: usize): void {
  escapes = base;
}

export function readMeta(start: usize, length: u32): bool {
  const stop = start + length;
  openBytes(start, stop);
  loadedWritableCount = 0;
  loadedReadonlyCount = 0;
  metaFee = 0;
  hasMetaUnits = false;
  metaUnits = 0;
  errorLength = 0;
  escapesEnd = escapes;
  beginLines();
  beginBinaryBalances();
  let seen: u32 = 0;
  while (true) {
    const found = nextField();
    if (found != FIELD) {
      // A log that was not recorded is left to the other reader.
      const isPlain = (seen & (1 << 11)) == 0 && ((seen & (1 << 10)) == 0 || (seen & (1 << 5)) == 0);
      return found != MALFORMED_FIELD && isPlain && lineCount > 0;
    }
    if (field > 16) continue;
    const number = field;
    const flag = value;
    const bit: u32 = 1 << number;
    const isRepeatable = ((1 << 5) | (1 << 6) | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 12) | (1 << 13) | (1 << 14) | (1 << 15)) & bit;
    if (isRepeatable == 0 && (seen & bit) != 0) return false;
    const resume = at;
    if (!readMetaField(number)) return false;
    // Flags count only if they are set.
    if ((number != 10 && number != 11) || flag != 0) seen |= bit;
    // The lines of a log were read up to the last one.
    if (number != 6) openBytes(resume, stop);
  }
}

function readMetaField(number: u32): bool {
  if (number == 2 || number == 10 || number == 11 || number == 16) {
    if (wireType != WIRE_VARINT) return false;
    if (number == 2) metaFee = value;
    if (number == 16) {
      metaUnits = value;
      hasMetaUnits = true;
    }
    return true;
  }
  if (number == 9 || number == 14 || number == 15) return true;
  if (wireType != WIRE_BYTES) return false;
  switch (number) {
    case 1: return readError(partStart, partLength);
    case 3: return readAmounts(partStart, partLength, false);
    case 4: return readAmounts(partStart, partLength, true);
    case 5: return readGroup(partStart, partLength);
    case 6: return readLines();
    case 7: return readToken(partStart, partLength, false);
    case 8: return readToken(partStart, partLength, true);
    default: return addLoaded(number == 12, partStart, partLength);
  }
}

/** Reads packed integers. */
function readAmounts(start: usize, length: u32, isPost: bool): bool {
  openBytes(start, start + length);
  while (at < end) if (!readVarint() || !addAmount(isPost, value)) return false;
  return true;
}

function readGroup(start: usize, length: u32): bool {
  const stop = start + length;
  openBytes(start, stop);
  if (!beginGroup()) return false;
  let index: u64 = 0;
  while (true) {
    const found = nextField();
    if (found != FIELD) {
      endGroup(<u32>index);
      return found != MALFORMED_FIELD && index <= 0xffff;
    }
    if (field > 2) continue;
    if (wireType != (field == 1 ? WIRE_VARINT : WIRE_BYTES)) return false;
    if (field == 1) {
      index = value;
      continue;
    }
    const resume = at;
    if (!readCall(partStart, partLength, true)) return false;
    openBytes(resume, stop);
  }
}

function readError(start: usize, length: u32): bool {
  openBytes(start, start + length);
  let hasError = false;
  while (true) {
    const found = nextField();
    if (found != FIELD) return found != MALFORMED_FIELD && hasError;
    if (field > 1) continue;
    if (wireType != WIRE_BYTES || hasError) return false;
    errorStart = partStart;
    errorLength = partLength;
    hasError = true;
  }
}

function addLoaded(isWritable: bool, start: usize, length: u32): bool {
  const count = isWritable ? loadedWritableCount++ : loadedReadonlyCount++;
  if (length != 32 || count == loadedCountMax) return false;
  const address = addressOfKey(start);
  store<u32>((isWritable ? loadedWritable : loadedReadonly) + (count << 2), <u32>address);
  return address >= 0;
}

let tokenAddress: i32 = 0;

/** Reads a text that is an address or empty, and sets `tokenAddress`, to -1 if it is empty. */
function readTokenAddress(): bool {
  tokenAddress = partLength == 0 ? -1 : addressOfText(partStart, partLength);
  return partLength == 0 || tokenAddress >= 0;
}

function readToken(start: usize, length: u32, isPost: bool): bool {
  const stop = start + length;
  openBytes(start, stop);
  let account: u64 = 0;
  let mint: i32 = -1;
  let owner: i32 = -1;
  let program: i32 = -1;
  let hasAmount = false;
  while (true) {
    const found = nextField();
    if (found != FIELD) {
      if (found == MALFORMED_FIELD || !hasAmount || mint < 0 || account > 0xffff) return false;
      return addSide(isPost, <u32>account, mint, owner, program, decimals, amount);
    }
    if (field > 5) continue;
    if (wireType != (field == 1 ? WIRE_VARINT : WIRE_BYTES)) return false;
    if (field == 1) {
      account = value;
      continue;
    }
    if (field == 3) {
      const resume = at;
      if (hasAmount || !readTokenAmount(partStart, partLength)) return false;
      hasAmount = true;
      openBytes(resume, stop);
      continue;
    }
    if (!readTokenAddress()) return false;
    if (field == 2) mint = tokenAddress;
    else if (field == 4) owner = tokenAddress;
    else program = tokenAddress;
  }
}

let decimals: u32 = 0;
let amount: u64 = 0;

function readTokenAmount(start: usize, length: u32): bool {
  openBytes(start, start + length);
  decimals = 0;
  let hasText = false;
  while (true) {
    const found = nextField();
    if (found != FIELD) return found != MALFORMED_FIELD && hasText;
    if (field == 2) {
      if (wireType != WIRE_VARINT || value > 255) return false;
      decimals = <u32>value;
    } else if (field == 3) {
      if (wireType != WIRE_BYTES || !readDecimal(partStart, partLength)) return false;
      hasText = true;
    }
  }
}

/** Reads an integer below 10^19, which is written without leading zeros. */
function readDecimal(start: usize, length: u32): bool {
  if (length == 0 || length > 19 || (length > 1 && load<u8>(start) == 48)) return false;
  amount = 0;
  for (let i: u32 = 0; i < length; i++) {
    const digit = <u32>load<u8>(start + i) - 48;
    if (digit > 9) return false;
    amount = amount * 10 + digit;
  }
  return true;
}

/** The tag of a line of the log. */
const lineTag: u32 = (6 << 3) | WIRE_BYTES;

/** Reads the current field and the lines directly after it. */
function readLines(): bool {
  while (readLine(partStart, partLength)) {
    if (at == end || load<u8>(at) != lineTag) return true;
    if (nextField() != FIELD) return false;
  }
  return false;
}

/** Returns all ones in the bytes that must be escaped. */
// @ts-ignore: decorator
@inline
function escapedIn(bytes: v128): v128 {
  const isQuoteOrBackslash = v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c)));
  return v128.or(isQuoteOrBackslash, i8x16.lt_u(bytes, i8x16.splat(0x20)));
}

/** Adds a line as output JSON: unchanged if nothing in it must be escaped. */
function readLine(start: usize, length: u32): bool {
  const stop = start + length;
  let escaped: i32;
  let wide: i32;
  if (length < 16) {
    const bytes = v128.load(start);
    const mask = (1 << length) - 1;
    escaped = i8x16.bitmask(escapedIn(bytes)) & mask;
    wide = i8x16.bitmask(bytes) & mask;
  } else {
    // The last vector overlaps the one before it.
    let union = v128.load(stop - 16);
    let odd = escapedIn(union);
    for (let position = start; position < stop - 16; position += 16) {
      const bytes = v128.load(position);
      union = v128.or(union, bytes);
      odd = v128.or(odd, escapedIn(bytes));
    }
    escaped = i8x16.bitmask(odd);
    wide = i8x16.bitmask(union);
  }
  if (wide != 0 && !isUtf8(start, stop)) return false;
  return escaped == 0 ? addLine(start, length, false) : addEscapedLine(start, stop);
}

function addEscapedLine(start: usize, stop: usize): bool {
  const first = escapesEnd;
  if (<u32>(first - escapes) + <u32>(stop - start) * 2 > escapeBytesMax) return false;
  let out = first;
  for (let position = start; position < stop; position++) {
    const byte = <u32>load<u8>(position);
    const short = shortEscapeOf(byte);
    if (short != 0) {
      store<u16>(out, <u16>(0x5c | (short << 8)));
      out += 2;
    } else {
      // Other control characters have long escapes and are left to the other reader.
      if (byte < 0x20) return false;
      store<u8>(out++, byte);
    }
  }
  escapesEnd = out;
  return addLine(first, <u32>(out - first), true);
}

/** Returns the character after the backslash of a short escape, or 0. */
function shortEscapeOf(byte: u32): u32 {
  if (byte == 0x22 || byte == 0x5c) return byte;
  if (byte == 0x0a) return 0x6e;
  if (byte == 0x0d) return 0x72;
  if (byte == 0x09) return 0x74;
  if (byte == 0x08) return 0x62;
  return byte == 0x0c ? 0x66 : 0;
}
