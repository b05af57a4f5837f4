// Decodes base58 text with tables, the inverse of `base58.ts`. The number is the sum of groups of four characters times 58^(4 i). A product
// has 24 + 32 bits, so 256 products can be added in 64 bits before carrying.
// 
//   text ─► 16 characters at a time to digits and groups below 58^4
//        ─► sums of products, four words of the number at a time, lowest word first
//        ─► carried ─► bytes, big-endian
import { BASE58_CHARACTERS_MAX } from '../../layout/reading';

/** The number of bytes that the decoder may write beyond the length of the text. */
export const BASE58_OUTPUT_SLACK: u32 = 16;
const groupCountMax: u32 = BASE58_CHARACTERS_MAX / 4;
/** The number of products whose sum fits 64 bits. */
const sumCountMax: u32 = 256;
/** Blocks of four words: enough for the number of the longest text and the carry. */
const blockCountMax: u32 = 84;
const zeroDigit: u8 = 49;

/** The groups of the current text, lowest first. */
let groups: usize = 0;
/** The words of the number, highest first, each big-endian. */
let whole: usize = 0;
/** For each group, the number of words of its power. */
let powerCounts: usize = 0;
/** For each block of four words: the first group whose power reaches it, and the address of the words of the powers from that group on. */
let firstGroups: usize = 0;
let blockStarts: usize = 0;

const tableBytes: u32 = groupCountMax * 8 + 64 + blockCountMax * 24 + 64;
/** The size of the tables at `base`, in which every power has all words below its highest. */
export const BASE58_DECODE_BYTES: u32 = tableBytes + (groupCountMax + 8) * blockCountMax * 8 + (1 << 16);

export function base58DecodeInitialize(base: usize): void {
  groups = (base + 15) & ~15;
  whole = groups + groupCountMax * 4 + 16;
  powerCounts = whole + blockCountMax * 16 + 32;
  firstGroups = powerCounts + groupCountMax * 4;
  blockStarts = firstGroups + blockCountMax * 4;
  countPowers(blockStarts + blockCountMax * 4);
  layOutBlocks(((blockStarts + blockCountMax * 4) + 15) & ~15);
}

/** Computes each power once to count its words. `scratch` is where the tables will be. */
function countPowers(scratch: usize): void {
  store<u32>(scratch, 1);
  let count: u32 = 1;
  for (let group: u32 = 0; group < groupCountMax; group++) {
    store<u32>(powerCounts + (group << 2), count);
    count = multiply(scratch, count);
  }
}

/** Multiplies the number at `words` by 58^4. Returns its new number of words. */
function multiply(words: usize, count: u32): u32 {
  let carry: u64 = 0;
  for (let word: u32 = 0; word < count; word++) {
    const product = <u64>load<u32>(words + (word << 2)) * 11316496 + carry;
    store<u32>(words + (word << 2), <u32>product);
    carry = product >> 32;
  }
  if (carry == 0) return count;
  store<u32>(words + (count << 2), <u32>carry);
  return count + 1;
}

function layOutBlocks(start: usize): void {
  let position = start;
  for (let block: u32 = 0; block < blockCountMax; block++) {
    let first: u32 = 0;
    while (first < groupCountMax && load<u32>(powerCounts + (first << 2)) <= block * 4) first++;
    store<u32>(firstGroups + (block << 2), first);
    store<u32>(blockStarts + (block << 2), <u32>position);
    position += <usize>(groupCountMax - first) << 4;
  }
  // Computes the powers again, after the end of the tables, and distributes each over its blocks.
  const power = position;
  store<u32>(power, 1);
  let count: u32 = 1;
  for (let group: u32 = 0; group < groupCountMax; group++) {
    memory.fill(power + (count << 2), 0, 16);
    for (let block: u32 = 0; block * 4 < count; block++) {
      const offset = <usize>(group - load<u32>(firstGroups + (block << 2))) << 4;
      v128.store(<usize>load<u32>(blockStarts + (block << 2)) + offset, v128.load(power + (block << 4)));
    }
    count = multiply(power, count);
  }
}

/**
 * Decodes the text. Returns the number of bytes at `output`, or -1 if a character is not base58. A text has at most `BASE58_CHARACTERS_MAX`
 * characters, needs at most one byte per character, and 16 bytes before it must be readable.
 */
export function base58Decode(text: usize, length: u32, output: usize): i32 {
  let zeros: u32 = 0;
  while (zeros < length && load<u8>(text + zeros) == zeroDigit) {
    store<u8>(output + zeros, 0);
    zeros++;
  }
  const count = length - zeros;
  if (count == 0) return <i32>zeros;
  if (!readGroups(text + zeros, count)) return -1;
  const wordCount = sumPowers((count + 3) >> 2);
  let first: usize = whole;
  const last = whole + (wordCount << 2);
  while (load<u32>(first) == 0) first += 4;
  first += <usize>(ctz(load<u32>(first)) >> 3);
  const byteCount = <u32>(last - first);
  for (let i: u32 = 0; i < byteCount; i += 16) v128.store(output + zeros + i, v128.load(first + i));
  return <i32>(zeros + byteCount);
}

/** Computes the groups of a text whose first character is not `1`. Returns false if a character is not base58. */
function readGroups(text: usize, count: u32): bool {
  let bad = i8x16.splat(0);
  let position = groups;
  let left = <i32>count;
  for (; left >= 16; left -= 16) {
    const characters = v128.load(text + left - 16);
    bad = v128.or(bad, notDigits(characters));
    v128.store(position, groupsOf(characters));
    position += 16;
  }
  if (left > 0) {
    // Bytes before the text count as zeros.
    const isBefore = i8x16.lt_s(positions(), i8x16.splat(<i8>(16 - left)));
    const characters = v128.bitselect(i8x16.splat(<i8>zeroDigit), v128.load(text + left - 16), isBefore);
    bad = v128.or(bad, notDigits(characters));
    v128.store(position, groupsOf(characters));
  }
  return !v128.any_true(bad);
}

// @ts-ignore: decorator
@inline
function positions(): v128 {
  return i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/** A mask of the characters that are not in the alphabet: digits and letters in order, without 0, I, O and l. */
// @ts-ignore: decorator
@inline
function notDigits(c: v128): v128 {
  const outside = v128.or(i8x16.lt_u(c, i8x16.splat(49)), i8x16.gt_u(c, i8x16.splat(122)));
  const between = v128.or(
    i8x16.lt_u(i8x16.sub(c, i8x16.splat(58)), i8x16.splat(7)),
    i8x16.lt_u(i8x16.sub(c, i8x16.splat(91)), i8x16.splat(6)),
  );
  const omitted = v128.or(
    i8x16.eq(c, i8x16.splat(108)),
    v128.or(i8x16.eq(c, i8x16.splat(73)), i8x16.eq(c, i8x16.splat(79))),
  );
  return v128.or(outside, v128.or(between, omitted));
}

/** Returns the four groups of 16 characters, lowest first. */
// @ts-ignore: decorator
@inline
function groupsOf(c: v128): v128 {
  let digits = i8x16.sub(c, i8x16.splat(49));
  digits = i8x16.sub(digits, v128.and(i8x16.ge_u(c, i8x16.splat(65)), i8x16.splat(7)));
  digits = i8x16.sub(digits, v128.and(i8x16.ge_u(c, i8x16.splat(97)), i8x16.splat(6)));
  // The alphabet omits three letters. For each one below the character the digit is one lower: a comparison that is true gives -1.
  digits = i8x16.add(digits, i8x16.ge_u(c, i8x16.splat(74)));
  digits = i8x16.add(digits, i8x16.ge_u(c, i8x16.splat(80)));
  digits = i8x16.add(digits, i8x16.ge_u(c, i8x16.splat(109)));
  const high = i16x8.mul(v128.and(digits, i16x8.splat(0xff)), i16x8.splat(58));
  const pairs = i16x8.add(high, i16x8.shr_u(digits, 8));
  const fours = i32x4.dot_i16x8_s(pairs, i32x4.splat(0x10000 | 3364));
  return v128.shuffle<u32>(fours, fours, 3, 2, 1, 0);
}

/** Computes the words of the number, highest first. Returns their number. */
function sumPowers(groupCount: u32): u32 {
  // The highest group is below 2^24, so its product has at most one word more than its power.
  const blockCount = (load<u32>(powerCounts + ((groupCount - 1) << 2)) + 4) >> 2;
  let carry: u64 = 0;
  let position = whole + (blockCount << 4);
  for (let block: u32 = 0; block < blockCount; block++) {
    const first = load<u32>(firstGroups + (block << 2));
    const start = <usize>load<u32>(blockStarts + (block << 2));
    let low = i64x2.splat(0);
    let high = i64x2.splat(0);
    const end = min(groupCount, sumCountMax);
    let power = start;
    for (let group = first; group < end; group++) {
      const factor = v128.load_splat<u32>(groups + (group << 2));
      const words = v128.load(power);
      low = i64x2.add(low, i64x2.extmul_low_i32x4_u(words, factor));
      high = i64x2.add(high, i64x2.extmul_high_i32x4_u(words, factor));
      power += 16;
    }
    position -= 16;
    if (groupCount > sumCountMax) carry = carryLong(position, low, high, block, groupCount, carry);
    else carry = carryBlock(position, low, high, carry);
  }
  return blockCount << 2;
}

/** Carries through four sums, stores their words at `position` and returns the carry. */
// @ts-ignore: decorator
@inline
function carryBlock(position: usize, low: v128, high: v128, before: u64): u64 {
  let sum = (i64x2.extract_lane(low, 0) as u64) + before;
  store<u32>(position, bswap<u32>(<u32>sum), 12);
  sum = (i64x2.extract_lane(low, 1) as u64) + (sum >> 32);
  store<u32>(position, bswap<u32>(<u32>sum), 8);
  sum = (i64x2.extract_lane(high, 0) as u64) + (sum >> 32);
  store<u32>(position, bswap<u32>(<u32>sum), 4);
  sum = (i64x2.extract_lane(high, 1) as u64) + (sum >> 32);
  store<u32>(position, bswap<u32>(<u32>sum));
  return sum >> 32;
}

/** Like `carryBlock`, for more groups than fit one 64-bit sum: their sums are added as halves. */
function carryLong(position: usize, low: v128, high: v128, block: u32, groupCount: u32, before: u64): u64 {
  const first = max(load<u32>(firstGroups + (block << 2)), sumCountMax);
  const start = <usize>load<u32>(blockStarts + (block << 2)) + (<usize>(first - load<u32>(firstGroups + (block << 2))) << 4);
  let moreLow = i64x2.splat(0);
  let moreHigh = i64x2.splat(0);
  for (let group = first, power = start; group < groupCount; group++, power += 16) {
    const factor = v128.load_splat<u32>(groups + (group << 2));
    const words = v128.load(power);
    moreLow = i64x2.add(moreLow, i64x2.extmul_low_i32x4_u(words, factor));
    moreHigh = i64x2.add(moreHigh, i64x2.extmul_high_i32x4_u(words, factor));
  }
  let carry = addHalves(position + 12, i64x2.extract_lane(low, 0), i64x2.extract_lane(moreLow, 0), before);
  carry = addHalves(position + 8, i64x2.extract_lane(low, 1), i64x2.extract_lane(moreLow, 1), carry);
  carry = addHalves(position + 4, i64x2.extract_lane(high, 0), i64x2.extract_lane(moreHigh, 0), carry);
  return addHalves(position, i64x2.extract_lane(high, 1), i64x2.extract_lane(moreHigh, 1), carry);
}

function addHalves(position: usize, first: u64, second: u64, carry: u64): u64 {
  const sum = (first & 0xffffffff) + (second & 0xffffffff) + (carry & 0xffffffff);
  store<u32>(position, bswap<u32>(<u32>sum));
  return (sum >> 32) + (first >> 32) + (second >> 32) + (carry >> 32);
}
