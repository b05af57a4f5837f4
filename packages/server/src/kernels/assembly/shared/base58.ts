// Base58 of bytes of any length, by tables: with digits of base 58^4, byte text = sum over 32-bit words of
// word × digits of 2^(32 i). A product has 32 + 24 bits, so 256 words add up in 64 bits before anything is carried.
// No division stands in the inner loop; the quadratic rest is two multiplications an instruction.

const BASE: u64 = 11316496; // 58^4
const PAIR: u32 = 3364; // 58^2
/** Words whose powers are tabled; longer data takes the slow way. */
const WORD_COUNT_MAX: u32 = 320;
const DIGIT_COUNT_MAX: u32 = 448;
/** Up to this length all bytes are read before the text is written, which may then take their place. */
export const BASE58_FAST_BYTES_MAX: u32 = WORD_COUNT_MAX * 4;

const ALPHABET = memory.data<u8>([
  49, 50, 51, 52, 53, 54, 55, 56, 57, 65, 66, 67, 68, 69, 70, 71, 72, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86,
  87, 88, 89, 90, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118,
  119, 120, 121, 122,
]);

/** Two characters by a number below 58^2. */
let pairs: usize = 0;
/** By word number: where its power's digits start, and how many they are. */
let powerStarts: usize = 0;
let powerCounts: usize = 0;
let sums: usize = 0;

/** Bytes of the memory at `base` that the tables take. */
export const BASE58_TABLE_BYTES: u32 =
  PAIR * 2 + 8 + WORD_COUNT_MAX * 8 + (DIGIT_COUNT_MAX + 8) * 8 + WORD_COUNT_MAX * DIGIT_COUNT_MAX * 4;

export function base58Initialize(base: usize): void {
  pairs = base;
  for (let value: u32 = 0; value < PAIR; value++) {
    store<u8>(pairs + value * 2, load<u8>(ALPHABET + value / 58));
    store<u8>(pairs + value * 2 + 1, load<u8>(ALPHABET + (value % 58)));
  }
  powerStarts = (pairs + PAIR * 2 + 7) & ~7;
  powerCounts = powerStarts + WORD_COUNT_MAX * 4;
  sums = powerCounts + WORD_COUNT_MAX * 4;
  let at = sums + (DIGIT_COUNT_MAX + 8) * 8;
  // 2^0, then each power from the one before.
  store<u32>(powerStarts, <u32>at);
  store<u32>(powerCounts, 1);
  store<u32>(at, 1);
  for (let word: u32 = 1; word < WORD_COUNT_MAX; word++) {
    const before = at;
    const count = load<u32>(powerCounts + (word - 1) * 4);
    at += (count + 1) * 4;
    store<u32>(powerStarts + word * 4, <u32>at);
    let carry: u64 = 0;
    let digit: u32 = 0;
    for (; digit < count; digit++) {
      const value = ((<u64>load<u32>(before + digit * 4)) << 32) + carry;
      store<u32>(at + digit * 4, <u32>(value % BASE));
      carry = value / BASE;
    }
    while (carry != 0) {
      store<u32>(at + digit * 4, <u32>(carry % BASE));
      carry /= BASE;
      digit++;
    }
    store<u32>(powerCounts + word * 4, digit);
  }
}

/** Writes the text of `length` bytes at `out` and answers where it ends. May write 4 bytes more. */
export function base58Encode(bytes: usize, length: u32, out: usize): usize {
  let zeros: u32 = 0;
  while (zeros < length && load<u8>(bytes + zeros) == 0) {
    store<u8>(out++, 49);
    zeros++;
  }
  bytes += zeros;
  length -= zeros;
  if (length == 0) return out;
  const wordCount = (length + 3) >> 2;
  if (wordCount > WORD_COUNT_MAX) return encodeSlowly(bytes, length, out);
  const digitCount = addPowers(bytes, length, wordCount);
  return writeDigits(digitCount, out);
}

/** The big-endian word `number`, counted from the end. */
// @ts-ignore: decorator
@inline
function wordAt(bytes: usize, length: u32, number: u32): u32 {
  const end = length - (number << 2);
  if (end >= 4) return bswap<u32>(load<u32>(bytes + end - 4));
  let word: u32 = 0;
  for (let i: u32 = 0; i < end; i++) word = (word << 8) | load<u8>(bytes + i);
  return word;
}

function addPowers(bytes: usize, length: u32, wordCount: u32): u32 {
  // The highest word multiplies its power by up to 2^32, which is less than two digits.
  const digitCount = load<u32>(powerCounts + (wordCount - 1) * 4) + 2;
  memory.fill(sums, 0, (digitCount + 4) * 8);
  for (let word: u32 = 0; word < wordCount; word++) {
    const value = wordAt(bytes, length, word);
    const power: usize = load<u32>(powerStarts + word * 4);
    const count = load<u32>(powerCounts + word * 4);
    const factor = i32x4.splat(<i32>value);
    let digit: u32 = 0;
    for (; digit + 4 <= count; digit += 4) {
      const digits = v128.load(power + digit * 4);
      const at = sums + digit * 8;
      v128.store(at, i64x2.add(v128.load(at), i64x2.extmul_low_i32x4_u(digits, factor)));
      v128.store(at, i64x2.add(v128.load(at, 16), i64x2.extmul_high_i32x4_u(digits, factor)), 16);
    }
    for (; digit < count; digit++) {
      const at = sums + digit * 8;
      store<u64>(at, load<u64>(at) + <u64>load<u32>(power + digit * 4) * <u64>value);
    }
    // Past 256 words a sum could overflow.
    if ((word & 255) == 255) carrySums(digitCount);
  }
  carrySums(digitCount);
  return digitCount;
}

function carrySums(digitCount: u32): void {
  let carry: u64 = 0;
  for (let digit: u32 = 0; digit < digitCount; digit++) {
    const at = sums + digit * 8;
    const value = load<u64>(at) + carry;
    carry = value / BASE;
    store<u64>(at, value - carry * BASE);
  }
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

/** By repeated division, one character a pass: for data longer than any real instruction's. */
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
