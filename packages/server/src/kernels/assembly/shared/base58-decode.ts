// From base58 text to bytes, by tables, as `base58.ts` goes the other way: with groups of four characters, the number is
// the sum over the groups of group × 58^(4 i). A product has 24 + 32 bits, so 256 groups add up in 64 bits before anything
// is carried.
//
//   text "…" ─► groups below 58^4 ─► sums, one a word of the number, small end first ─► carried ─► bytes, big end first

/** More than the text of any data of a transaction of 1,232 bytes. */
export const BASE58_CHARACTERS_MAX: u32 = 1792;
const groupCountMax: u32 = BASE58_CHARACTERS_MAX / 4;
/** Five and a bit of eight bits a character: what the longest text's number takes, with room to carry into. */
const wordCountMax: u32 = 336;
const notADigit: u8 = 0xff;
const one: u8 = 49;

let digits: usize = 0;
let sums: usize = 0;
/** The number's bytes before its leading zeros are cut. */
let whole: usize = 0;
/** By group number: where its power's words start, and how many they are. */
let powerStarts: usize = 0;
let powerCounts: usize = 0;

const tableBytes: u32 = 256 + (wordCountMax + 8) * 8 + wordCountMax * 4 + 64 + groupCountMax * 8;
/** Bytes of the memory at `base` that the tables take. */
export const BASE58_DECODE_BYTES: u32 = tableBytes + groupCountMax * wordCountMax * 4;

export function base58DecodeInitialize(base: usize): void {
  digits = base;
  sums = digits + 256;
  whole = sums + (wordCountMax + 8) * 8;
  powerStarts = whole + wordCountMax * 4 + 64;
  powerCounts = powerStarts + groupCountMax * 4;
  fillDigits();
  let at = powerCounts + groupCountMax * 4;
  store<u32>(powerStarts, <u32>at);
  store<u32>(powerCounts, 1);
  store<u32>(at, 1);
  for (let group: u32 = 1; group < groupCountMax; group++) {
    const before = at;
    const count = load<u32>(powerCounts + (group - 1) * 4);
    at += count * 4;
    store<u32>(powerStarts + group * 4, <u32>at);
    let carry: u64 = 0;
    for (let word: u32 = 0; word < count; word++) {
      const product = <u64>load<u32>(before + word * 4) * 11316496 + carry;
      store<u32>(at + word * 4, <u32>product);
      carry = product >> 32;
    }
    if (carry != 0) store<u32>(at + count * 4, <u32>carry);
    store<u32>(powerCounts + group * 4, carry == 0 ? count : count + 1);
  }
}

function fillDigits(): void {
  memory.fill(digits, notADigit, 256);
  let value: u8 = 0;
  // The alphabet is the digits and letters in order, without 0, I, O and l.
  for (let code: u8 = one; code <= 122; code++) {
    const isIn =
      code <= 57 || (code >= 65 && code <= 90 && code != 73 && code != 79) || (code >= 97 && code != 108);
    if (isIn) store<u8>(digits + code, value++);
  }
}

/**
 * Decodes the text and answers how many bytes are at `output` then; -1 if a character is none of base58. A text has at most
 * `BASE58_CHARACTERS_MAX`, and takes no more bytes than characters.
 */
export function base58Decode(text: usize, length: u32, output: usize): i32 {
  let zeros: u32 = 0;
  while (zeros < length && load<u8>(text + zeros) == one) zeros++;
  memory.fill(output, 0, zeros);
  const count = length - zeros;
  if (count == 0) return <i32>zeros;
  const groupCount = (count + 3) >> 2;
  // The highest group multiplies its power by less than 2^24, which is less than one word.
  const wordCount = load<u32>(powerCounts + (groupCount - 1) * 4) + 1;
  if (!addPowers(text + zeros, count, groupCount, wordCount)) return -1;
  for (let word: u32 = 0; word < wordCount; word++) {
    store<u32>(whole + ((wordCount - 1 - word) << 2), bswap<u32>(<u32>load<u64>(sums + (word << 3))));
  }
  const wholeBytes = wordCount << 2;
  let first: u32 = 0;
  while (first < wholeBytes && load<u8>(whole + first) == 0) first++;
  memory.copy(output + zeros, whole + first, wholeBytes - first);
  return <i32>(zeros + wholeBytes - first);
}

/** Leaves the number's words in the sums; false if a character is none of base58. */
function addPowers(text: usize, count: u32, groupCount: u32, wordCount: u32): bool {
  memory.fill(sums, 0, (wordCount + 4) << 3);
  let bad: u32 = 0;
  let end = count;
  for (let group: u32 = 0; group < groupCount; group++) {
    const start = end > 4 ? end - 4 : 0;
    let value: u32 = 0;
    for (let i = start; i < end; i++) {
      const digit: u32 = load<u8>(digits + load<u8>(text + i));
      bad |= digit;
      value = value * 58 + digit;
    }
    end = start;
    addPower(group, value);
    // Past 256 groups a sum could overflow.
    if ((group & 255) == 255) carrySums(wordCount);
  }
  carrySums(wordCount);
  return (bad & 0x80) == 0;
}

// @ts-ignore: decorator
@inline
function addPower(group: u32, value: u32): void {
  const power: usize = load<u32>(powerStarts + (group << 2));
  const count = load<u32>(powerCounts + (group << 2));
  const factor = i32x4.splat(<i32>value);
  let word: u32 = 0;
  for (; word + 4 <= count; word += 4) {
    const words = v128.load(power + (word << 2));
    const at = sums + (word << 3);
    v128.store(at, i64x2.add(v128.load(at), i64x2.extmul_low_i32x4_u(words, factor)));
    v128.store(at, i64x2.add(v128.load(at, 16), i64x2.extmul_high_i32x4_u(words, factor)), 16);
  }
  for (; word < count; word++) {
    const at = sums + (word << 3);
    store<u64>(at, load<u64>(at) + <u64>load<u32>(power + (word << 2)) * <u64>value);
  }
}

function carrySums(wordCount: u32): void {
  let carry: u64 = 0;
  for (let word: u32 = 0; word < wordCount; word++) {
    const at = sums + (word << 3);
    const value = load<u64>(at) + carry;
    store<u64>(at, value & 0xffffffff);
    carry = value >> 32;
  }
}
