// Encodes bytes of any length as base58, with tables. A number is the sum of its 16-bit pieces times 2^(16 i). The tables contain the
// digits of these powers, so the digits of the result are sums of products. Pieces are signed, and digits have base 58^2, because one
// instruction then multiplies eight of them and adds the products in pairs. The time grows with the square of the length.

const BASE: u64 = 11316496; // 58^4
const PAIR: u32 = 3364; // 58^2
/** The bytes whose pieces are multiplied together: the sum of 16 products fits 32 bits. */
const GROUP_BYTES: u32 = 32;
const GROUP_PIECES: u32 = GROUP_BYTES / 2;
/** The number of groups whose powers are in the tables. Longer data is encoded by division. */
const GROUP_COUNT_MAX: u32 = 40;
/** Four digits of the powers of a group, two powers side by side: the operand of one instruction. */
const BLOCK_BYTES: u32 = GROUP_PIECES * 8;
/** Up to this length all bytes are read before the text is written, so the text may overwrite them. */
export const BASE58_FAST_BYTES_MAX: u32 = GROUP_COUNT_MAX * GROUP_BYTES;

const ALPHABET = memory.data<u8>([
  49, 50, 51, 52, 53, 54, 55, 56, 57, 65, 66, 67, 68, 69, 70, 71, 72, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86,
  87, 88, 89, 90, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118,
  119, 120, 121, 122,
]);

/** The two characters of each number below 58^2. */
let pairs: usize = 0;
/** Sums of products by digit, 64 bits each; later the digits of base 58^4. */
let sums: usize = 0;
/** For each group, the blocks of its powers. */
let powers: usize = 0;
/** The filled part of the tables, and the digits of the next power. */
let tableEnd: usize = 0;
let tableGroups: u32 = 0;
let power: usize = 0;
let powerDigits: u32 = 0;

/** Returns the number of blocks for all digits of this many bytes and one piece: a digit has more than 11.7 bits. */
// @ts-ignore: decorator
@inline
function blockCountOf(byteCount: u32): u32 {
  return ((byteCount + 2) * 80) / 117 / 4 + 1;
}

const BLOCK_COUNT_MAX: u32 = (((GROUP_COUNT_MAX + 1) * GROUP_BYTES + 2) * 80) / 117 / 4 + 1;

/** The size of the tables at `base`. */
export const BASE58_TABLE_BYTES: u32 =
  PAIR * 2 + 32 + (BLOCK_COUNT_MAX + 1) * 48 + (GROUP_COUNT_MAX + 1) * BLOCK_COUNT_MAX * BLOCK_BYTES;

export function base58Initialize(base: usize): void {
  pairs = base;
  for (let value: u32 = 0; value < PAIR; value++) {
    store<u8>(pairs + value * 2, load<u8>(ALPHABET + value / 58));
    store<u8>(pairs + value * 2 + 1, load<u8>(ALPHABET + (value % 58)));
  }
  sums = (pairs + PAIR * 2 + 15) & ~15;
  power = sums + (BLOCK_COUNT_MAX + 1) * 32;
  powers = power + BLOCK_COUNT_MAX * 16;
  store<u32>(power, 1);
  powerDigits = 1;
  tableEnd = powers;
  tableGroups = 0;
}

/** Fills the tables up to `groupCount` groups. Done on demand, because long data is rare. */
function tabulate(groupCount: u32): void {
  for (; tableGroups < groupCount; tableGroups++) {
    const byteCount = blockCountOf((tableGroups + 1) * GROUP_BYTES) * BLOCK_BYTES;
    memory.fill(tableEnd, 0, byteCount);
    for (let piece: u32 = 0; piece < GROUP_PIECES; piece++) {
      const column = tableEnd + (piece >> 1) * 16 + (piece & 1) * 2;
      for (let digit: u32 = 0; digit < powerDigits; digit++) {
        store<u16>(column + (digit >> 2) * BLOCK_BYTES + (digit & 3) * 4, <u16>load<u32>(power + digit * 4));
      }
      powerDigits = multiplyByPiece(power, powerDigits);
    }
    tableEnd += byteCount;
  }
}

/** Multiplies a number of `count` digits of base 58^2 by 2^16. Returns its new number of digits. */
function multiplyByPiece(digits: usize, count: u32): u32 {
  let carry: u32 = 0;
  for (let digit: u32 = 0; digit < count; digit++) {
    const value = (load<u32>(digits + digit * 4) << 16) + carry;
    store<u32>(digits + digit * 4, value % PAIR);
    carry = value / PAIR;
  }
  for (; carry != 0; carry /= PAIR) store<u32>(digits + count++ * 4, carry % PAIR);
  return count;
}

/** Writes the text of `length` bytes at `out`. Returns the end of the text. May write 4 more bytes. */
export function base58Encode(bytes: usize, length: u32, out: usize): usize {
  let zeros: u32 = 0;
  while (zeros < length && load<u8>(bytes + zeros) == 0) {
    store<u8>(out++, 49);
    zeros++;
  }
  bytes += zeros;
  length -= zeros;
  if (length == 0) return out;
  if (length > BASE58_FAST_BYTES_MAX) return encodeSlowly(bytes, length, out);
  return writeDigits(length <= SHORT_BYTES_MAX ? addWords(bytes, length) : addPowers(bytes, length), out);
}

/** Data this short needs few divisions, so multiplication would not be faster. */
const SHORT_BYTES_MAX: u32 = 16;

/** Computes the digits of short data: for each word, multiplies all digits by 2^32 and adds the word. Returns the number of digits. */
function addWords(bytes: usize, length: u32): u32 {
  const end = bytes + length;
  const firstEnd = bytes + ((length - 1) & 3) + 1;
  let word: u64 = 0;
  for (; bytes < firstEnd; bytes++) word = (word << 8) | <u64>load<u8>(bytes);
  let count: u32 = 0;
  while (true) {
    for (let at = sums, digitsEnd = sums + count * 8; at < digitsEnd; at += 8) {
      const value = (load<u64>(at) << 32) + word;
      word = value / BASE;
      store<u64>(at, value - word * BASE);
    }
    for (; word != 0; word /= BASE) store<u64>(sums + count++ * 8, word % BASE);
    if (bytes == end) break;
    word = <u64>bswap<u32>(load<u32>(bytes));
    bytes += 4;
  }
  return count;
}

/** Returns the eight bytes that end `skipped` bytes before the end, as a number. Bytes before the first one are 0. */
// @ts-ignore: decorator
@inline
function wordAt(bytes: usize, length: u32, skipped: u32): u64 {
  if (skipped >= length) return 0;
  const word = bswap<u64>(load<u64>(bytes + length - skipped - 8));
  const taken = length - skipped;
  return taken >= 8 ? word : word & ((<u64>1 << (taken << 3)) - 1);
}

/** 2^15 is added to every piece of a word, and reading the piece as signed subtracts it again, so a piece fits 16 bits. */
const RAISED: u64 = 0x8000800080008000;
/** The pieces of a group. */
const pieces = memory.data(32, 16);

/** Computes the digits. Returns their number in base 58^4. */
function addPowers(bytes: usize, length: u32): u32 {
  const groupCount = (length + GROUP_BYTES - 1) / GROUP_BYTES;
  const blockCount = blockCountOf(length);
  if (tableGroups <= groupCount) tabulate(groupCount + 1);
  for (let at = sums, end = sums + (blockCount + 1) * 32; at < end; at += 16) v128.store(at, i64x2.splat(0));
  let table = powers;
  let carry: u64 = 0;
  for (let group: u32 = 0; group < groupCount; group++) {
    for (let i: u32 = 0; i < GROUP_BYTES; i += 8) {
      const word = wordAt(bytes, length, group * GROUP_BYTES + i) + carry;
      const raised = word + RAISED;
      carry = u64(raised < word || word < carry);
      store<u64>(pieces + i, raised ^ RAISED);
    }
    const groupBlocks = blockCountOf((group + 1) * GROUP_BYTES);
    if (v128.any_true(v128.load(pieces, 16))) addGroup(table, min(groupBlocks, blockCount));
    else addHalf(table, min(groupBlocks, blockCount));
    table += groupBlocks * BLOCK_BYTES;
  }
  if (carry != 0) addPower(table, blockCount);
  return carrySums(blockCount);
}

/** Adds the products of the lower half of a group's pieces. The upper half is 0. */
function addHalf(table: usize, blockCount: u32): void {
  const a = v128.load32_splat(pieces);
  const b = v128.load32_splat(pieces, 4);
  const c = v128.load32_splat(pieces, 8);
  const d = v128.load32_splat(pieces, 12);
  const end = table + blockCount * BLOCK_BYTES;
  for (let sum = sums; table < end; table += BLOCK_BYTES, sum += 32) {
    const ab = i32x4.add(i32x4.dot_i16x8_s(v128.load(table), a), i32x4.dot_i16x8_s(v128.load(table, 16), b));
    const cd = i32x4.add(i32x4.dot_i16x8_s(v128.load(table, 32), c), i32x4.dot_i16x8_s(v128.load(table, 48), d));
    addProducts(sum, i32x4.add(ab, cd));
  }
}

/** Adds the products of a group's pieces and their powers, which are at `table`. */
function addGroup(table: usize, blockCount: u32): void {
  const a = v128.load32_splat(pieces);
  const b = v128.load32_splat(pieces, 4);
  const c = v128.load32_splat(pieces, 8);
  const d = v128.load32_splat(pieces, 12);
  const e = v128.load32_splat(pieces, 16);
  const f = v128.load32_splat(pieces, 20);
  const g = v128.load32_splat(pieces, 24);
  const h = v128.load32_splat(pieces, 28);
  const end = table + blockCount * BLOCK_BYTES;
  for (let sum = sums; table < end; table += BLOCK_BYTES, sum += 32) {
    const ab = i32x4.add(i32x4.dot_i16x8_s(v128.load(table), a), i32x4.dot_i16x8_s(v128.load(table, 16), b));
    const cd = i32x4.add(i32x4.dot_i16x8_s(v128.load(table, 32), c), i32x4.dot_i16x8_s(v128.load(table, 48), d));
    const ef = i32x4.add(i32x4.dot_i16x8_s(v128.load(table, 64), e), i32x4.dot_i16x8_s(v128.load(table, 80), f));
    const gh = i32x4.add(i32x4.dot_i16x8_s(v128.load(table, 96), g), i32x4.dot_i16x8_s(v128.load(table, 112), h));
    addProducts(sum, i32x4.add(i32x4.add(ab, cd), i32x4.add(ef, gh)));
  }
}

// @ts-ignore: decorator
@inline
function addProducts(sum: usize, products: v128): void {
  v128.store(sum, i64x2.add(v128.load(sum), i64x2.extend_low_i32x4_s(products)));
  v128.store(sum, i64x2.add(v128.load(sum, 16), i64x2.extend_high_i32x4_s(products)), 16);
}

/** Adds the first power of a group once. */
function addPower(table: usize, blockCount: u32): void {
  for (let digit: u32 = 0; digit < blockCount * 4; digit++) {
    const power = load<u16>(table + (digit >> 2) * BLOCK_BYTES + (digit & 3) * 4);
    const at = sums + digit * 8;
    store<u64>(at, load<u64>(at) + <u64>power);
  }
}

/** Sums are below 2^37 in magnitude and may be negative, so this multiple of the base is added during division. */
const LIFT: u64 = BASE << 32;

/** Converts sums in base 58^2 to digits of base 58^4. Returns the number of digits. */
function carrySums(blockCount: u32): u32 {
  let carry: u64 = 0;
  const digitCount = blockCount * 2;
  for (let digit: u32 = 0; digit < digitCount; digit++) {
    const at = sums + digit * 16;
    const value = load<u64>(at) + load<u64>(at, 8) * PAIR + carry + LIFT;
    const quotient = value / BASE;
    store<u64>(sums + digit * 8, value - quotient * BASE);
    carry = quotient - (LIFT / BASE);
  }
  return digitCount;
}

function writeDigits(digitCount: u32, out: usize): usize {
  let digit: i32 = <i32>digitCount - 1;
  while (load<u64>(sums + digit * 8) == 0) digit--;
  // The first digit is written without its leading zeros.
  const first = <u32>load<u64>(sums + digit * 8);
  const characters: u32 = first < 58 ? 1 : first < PAIR ? 2 : first < PAIR * 58 ? 3 : 4;
  const high = load<u16>(pairs + (first / PAIR) * 2);
  const low = load<u16>(pairs + (first % PAIR) * 2);
  store<u32>(out, (<u32>high | ((<u32>low) << 16)) >> ((4 - characters) << 3));
  out += characters;
  for (digit--; digit >= 0; digit--) {
    const value = <u32>load<u64>(sums + digit * 8);
    const pair = value / PAIR;
    store<u16>(out, load<u16>(pairs + pair * 2));
    store<u16>(out + 2, load<u16>(pairs + (value - pair * PAIR) * 2));
    out += 4;
  }
  return out;
}

/** Encodes by repeated division, one character per pass. Used only for data that is longer than the data of any real instruction. */
function encodeSlowly(bytes: usize, length: u32, out: usize): usize {
  const start = out;
  let end = out;
  for (let i: u32 = 0; i < length; i++) {
    let carry: u32 = load<u8>(bytes + i);
    for (let at = start; at < end; at++) {
      carry += (<u32>load<u8>(at)) << 8;
      store<u8>(at, <u8>(carry % 58));
      carry /= 58;
    }
    while (carry != 0) {
      store<u8>(end++, <u8>(carry % 58));
      carry /= 58;
    }
  }
  for (let low = start, high = end - 1; low < high; low++, high--) {
    const swapped = load<u8>(low);
    store<u8>(low, load<u8>(high));
    store<u8>(high, swapped);
  }
  for (let at = start; at < end; at++) store<u8>(at, load<u8>(ALPHABET + load<u8>(at)));
  return end;
}
