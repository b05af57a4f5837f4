// Prints texts and small numbers according to a list of orders. The host stores its texts in this memory, each as its length (32 bits) and
// its bytes, aligned to 8, so that an order is one or two words:
//
//   text, number: the address of a text, or a number times 8, plus the code
//   numbers: the bytes of a text as numbers, separated by commas
//   amounts: the bytes of a text as 64-bit integers, separated by commas
//   quoted: a part of a list, whose bytes are the addresses of texts, separated by `","`; a second word has the
//           first index in its low half and the end in its high half
//   base58, base64: the bytes of a text in that encoding
//   shown: the first 64-bit integer of a text as a decimal number; a second word has the number of decimals, plus
//          256 to print a whole number as `5.0`, as a node prints its doubles
//
// Texts are copied 16 bytes at a time. A copy may write bytes beyond the end of its text, which the next text overwrites. The memory
// therefore continues for 16 bytes after the last text and after the end of the output.
import {
  ORDER_AMOUNTS as AMOUNTS, ORDER_BASE58 as BASE58, ORDER_BASE64 as BASE64, ORDER_CODE_BITS, ORDER_CODE_MASK,
  ORDER_NUMBER as NUMBER, ORDER_NUMBERS as NUMBERS, ORDER_QUOTED as QUOTED, ORDER_TEXT as TEXT, SHOWN_AS_DOUBLE,
} from '../layout/printing';
import { writeUint, writeUlong } from '../../../../base/src/assembly/integers';

const POINT: u8 = 46;
const ZERO: u8 = 48;
const PADDING: u8 = 61;
const ONE_58: u8 = 49;
/** 58 to the power of 5: a division by it yields a group of five digits. */
const GROUP: u64 = 656356768;
const ALPHABET_58 = memory.data<u8>([
  49, 50, 51, 52, 53, 54, 55, 56, 57, 65, 66, 67, 68, 69, 70, 71, 72, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87,
  88, 89, 90, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119,
  120, 121, 122,
]);
const ALPHABET_64 = memory.data<u8>([
  65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 97, 98, 99, 100,
  101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 48, 49,
  50, 51, 52, 53, 54, 55, 56, 57, 43, 47,
]);
/** Instruction data has at most 1,232 bytes, which are 308 words and at most 337 groups of digits, rounded up to a multiple of 4. */
const LIMBS = memory.data(1248);
const GROUPS = memory.data(1376);

const COMMA: u8 = 44;
/** `","` and a byte that is overwritten. */
const QUOTES: u32 = 0x222c22;

let stopped: usize = 0;

/** Returns the next order when `print` stopped at the limit. */
export function stoppedAt(): usize {
  return stopped;
}

export function memoryStart(): usize {
  return (__heap_base + 63) & ~63;
}

// @ts-ignore: decorator
@inline
function copyText(text: usize, out: usize): usize {
  const end = out + load<u32>(text);
  let from = text + 4;
  do {
    v128.store(out, v128.load(from));
    from += 16;
    out += 16;
  } while (out < end);
  return end;
}

function printNumbers(list: usize, out: usize): usize {
  const end = list + 4 + load<u32>(list);
  for (let at = list + 4; at < end; at++) {
    out = writeUint(load<u8>(at), out);
    store<u8>(out++, COMMA);
  }
  return end == list + 4 ? out : out - 1;
}

function printAmounts(list: usize, out: usize): usize {
  const end = list + 4 + load<u32>(list);
  for (let at = list + 4; at < end; at += 8) {
    out = writeUlong(load<u64>(at), out);
    store<u8>(out++, COMMA);
  }
  return end == list + 4 ? out : out - 1;
}

/** Writes the base58 digits of `count` bytes. Returns the end of the output. */
export function encodeBase58(bytes: usize, count: u32, out: usize): usize {
  const end = bytes + count;
  while (bytes < end && load<u8>(bytes) == 0) {
    store<u8>(out++, ONE_58);
    bytes++;
  }
  if (bytes == end) return out;
  let group = divideLimbs(LIMBS + (loadLimbs(bytes, end) << 2));
  while (load<u32>(group) == 0) group -= 4;
  // The first group has no leading zeros.
  const size = groupSize(load<u32>(group));
  writeGroup(load<u32>(group), size, out);
  out += size;
  for (group -= 4; group >= GROUPS; group -= 4) {
    writeGroup(load<u32>(group), 5, out);
    out += 5;
  }
  return out;
}

/** Stores bytes as big-endian words; the first word may be shorter. Returns the number of words. */
function loadLimbs(at: usize, end: usize): u32 {
  let limb: u32 = 0;
  const first = at + ((end - at) & 3);
  let count: u32 = first > at ? 1 : 0;
  while (at < first) limb = (limb << 8) | load<u8>(at++);
  store<u32>(LIMBS, limb);
  for (; at < end; at += 4) store<u32>(LIMBS + (count++ << 2), bswap(load<u32>(at)));
  return count;
}

/**
 * Divides the limbs up to `end` into groups, the least significant one first, and returns the last one. Every pass divides four times, each
 * time the quotients of the time before: the four divisions of a limb overlap in the processor with those of the next one.
 */
function divideLimbs(end: usize): usize {
  let group = GROUPS;
  for (let start = LIMBS; start < end; group += 16) {
    let rest0: u64 = 0;
    let rest1: u64 = 0;
    let rest2: u64 = 0;
    let rest3: u64 = 0;
    for (let at = start; at < end; at += 4) {
      let value = (rest0 << 32) | load<u32>(at);
      let quotient = value / GROUP;
      rest0 = value - quotient * GROUP;
      value = (rest1 << 32) | quotient;
      quotient = value / GROUP;
      rest1 = value - quotient * GROUP;
      value = (rest2 << 32) | quotient;
      quotient = value / GROUP;
      rest2 = value - quotient * GROUP;
      value = (rest3 << 32) | quotient;
      quotient = value / GROUP;
      rest3 = value - quotient * GROUP;
      store<u32>(at, <u32>quotient);
    }
    store<u32>(group, <u32>rest0);
    store<u32>(group, <u32>rest1, 4);
    store<u32>(group, <u32>rest2, 8);
    store<u32>(group, <u32>rest3, 12);
    while (start < end && load<u32>(start) == 0) start += 4;
  }
  return group - 4;
}

/** Returns the number of digits of a group without leading zeros. */
function groupSize(group: u32): u32 {
  if (group < 3364) return group < 58 ? 1 : 2;
  return group < 195112 ? 3 : group < 11316496 ? 4 : 5;
}

/** Writes the digits of a group, with leading zeros up to `size` digits. */
// @ts-ignore: decorator
@inline
function writeGroup(group: u32, size: u32, out: usize): void {
  for (let at = out + size - 1; at >= out; at--) {
    const rest = group / 58;
    store<u8>(at, load<u8>(ALPHABET_58 + (group - rest * 58)));
    group = rest;
  }
}

function printBase64(text: usize, out: usize): usize {
  const end = text + 4 + load<u32>(text);
  let at = text + 4;
  for (; at + 3 <= end; at += 3) {
    const bits = (<u32>load<u8>(at) << 16) | (<u32>load<u8>(at + 1) << 8) | load<u8>(at + 2);
    store<u8>(out, load<u8>(ALPHABET_64 + (bits >> 18)));
    store<u8>(out + 1, load<u8>(ALPHABET_64 + ((bits >> 12) & 63)));
    store<u8>(out + 2, load<u8>(ALPHABET_64 + ((bits >> 6) & 63)));
    store<u8>(out + 3, load<u8>(ALPHABET_64 + (bits & 63)));
    out += 4;
  }
  if (at == end) return out;
  const isOne = at + 1 == end;
  const bits = (<u32>load<u8>(at) << 16) | (isOne ? 0 : <u32>load<u8>(at + 1) << 8);
  store<u8>(out, load<u8>(ALPHABET_64 + (bits >> 18)));
  store<u8>(out + 1, load<u8>(ALPHABET_64 + ((bits >> 12) & 63)));
  store<u8>(out + 2, isOne ? PADDING : load<u8>(ALPHABET_64 + ((bits >> 6) & 63)));
  store<u8>(out + 3, PADDING);
  return out + 4;
}

/** Prints a decimal number without trailing zeros after the decimal point, and with at least one digit before it. */
function printShown(amount: u64, form: u32, out: usize): usize {
  let decimals = form & 255;
  while (decimals > 0 && amount % 10 == 0) {
    amount /= 10;
    decimals--;
  }
  let power: u64 = 1;
  for (let i: u32 = 0; i < decimals; i++) power *= 10;
  const whole = amount / power;
  out = writeUlong(whole, out);
  if (decimals == 0) {
    if ((form & SHOWN_AS_DOUBLE) == 0) return out;
    store<u8>(out, POINT);
    store<u8>(out + 1, ZERO);
    return out + 2;
  }
  store<u8>(out++, POINT);
  let rest = amount - whole * power;
  for (let at = out + decimals - 1; at >= out; at--) {
    store<u8>(at, ZERO + <u8>(rest % 10));
    rest /= 10;
  }
  return out + decimals;
}

function printQuoted(list: usize, range: u32, out: usize): usize {
  const end = list + 4 + ((range >> 16) << 2);
  let at = list + 4 + ((range & 0xffff) << 2);
  if (at >= end) return out;
  for (; at < end; at += 4) {
    out = copyText(load<u32>(at), out);
    store<u32>(out, QUOTES);
    out += 3;
  }
  return out - 3;
}

/** Executes the orders from `at` to `end`, but starts none after the output has reached `limit`. Returns the end of the output. */
export function print(at: usize, end: usize, out: usize, limit: usize): usize {
  while (at < end && out < limit) {
    const order = load<u32>(at);
    const code = order & ORDER_CODE_MASK;
    at += 4;
    if (code == TEXT) out = copyText(order, out);
    else if (code == NUMBER) out = writeUint(order >> ORDER_CODE_BITS, out);
    else if (code == NUMBERS) out = printNumbers(order - code, out);
    else if (code == AMOUNTS) out = printAmounts(order - code, out);
    else if (code == BASE58) out = encodeBase58(order - code + 4, load<u32>(order - code), out);
    else if (code == BASE64) out = printBase64(order - code, out);
    else {
      const second = load<u32>(at);
      at += 4;
      if (code == QUOTED) out = printQuoted(order - code, second, out);
      else out = printShown(load<u64>(order - code + 4), second, out);
    }
  }
  stopped = at;
  return out;
}
