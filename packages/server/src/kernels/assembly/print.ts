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
import { writeUint, writeUlong } from './common/integers';

const POINT: u8 = 46;
const ZERO: u8 = 48;
const PADDING: u8 = 61;
/** 58 to the power of 5: each division yields five digits. */
const FIVE_DIGITS: u64 = 656356768;
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
/** Instruction data has at most 1,232 bytes, which are 308 words and at most 1,683 digits. */
const LIMBS = memory.data(1248);
const DIGITS_REVERSED = memory.data(1712);

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
  let zeroCount: u32 = 0;
  while (zeroCount < count && load<u8>(bytes + zeroCount) == 0) {
    store<u8>(out++, 49);
    zeroCount++;
  }
  // Big-endian words; the first may be shorter.
  let limbCount: u32 = 0;
  let at = bytes + zeroCount;
  const end = bytes + count;
  let first = <u32>((end - at) & 3);
  while (at < end) {
    const take: u32 = first > 0 ? first : 4;
    first = 0;
    let limb: u32 = 0;
    for (let i: u32 = 0; i < take; i++) limb = (limb << 8) | load<u8>(at++);
    store<u32>(LIMBS + (limbCount << 2), limb);
    limbCount++;
  }
  let start: u32 = 0;
  let digits = DIGITS_REVERSED;
  while (start < limbCount) {
    let rest: u64 = 0;
    for (let i = start; i < limbCount; i++) {
      const value = (rest << 32) | load<u32>(LIMBS + (i << 2));
      const quotient = value / FIVE_DIGITS;
      store<u32>(LIMBS + (i << 2), <u32>quotient);
      rest = value - quotient * FIVE_DIGITS;
    }
    while (start < limbCount && load<u32>(LIMBS + (start << 2)) == 0) start++;
    let five = <u32>rest;
    for (let i = 0; i < 5; i++) {
      store<u8>(digits++, <u8>(five % 58));
      five /= 58;
    }
  }
  while (digits > DIGITS_REVERSED && load<u8>(digits - 1) == 0) digits--;
  while (digits > DIGITS_REVERSED) store<u8>(out++, load<u8>(ALPHABET_58 + load<u8>(--digits)));
  return out;
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
