// Turning stored columns into the form that selecting and writing work on.
import { writeUint } from './integers';

/** A value of a column that is as wide as its largest needs. */
// @ts-ignore: decorator
@inline
export function loadInt(column: usize, width: u32, row: u32): u32 {
  if (width == 1) return load<u8>(column + row);
  if (width == 2) return load<u16>(column + (row << 1));
  return load<u32>(column + (row << 2));
}

// @ts-ignore: decorator
@inline
export function loadLong(column: usize, width: u32, row: u32): u64 {
  if (width == 8) return load<u64>(column + (row << 3));
  return loadInt(column, width, row);
}

/** Starts of ranges from their lengths: `out` holds count + 1 values of 32 bits. Answers the total. */
export function startsOf(lengths: usize, width: u32, count: u32, out: usize): u32 {
  let sum: u32 = 0;
  for (let row: u32 = 0; row < count; row++) {
    store<u32>(out + (row << 2), sum);
    sum += loadInt(lengths, width, row);
  }
  store<u32>(out + (count << 2), sum);
  return sum;
}

/** Adds the lengths of column `b` to the 32-bit values at `out`. */
export function addColumn(b: usize, width: u32, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) {
    const at = out + (row << 2);
    store<u32>(at, load<u32>(at) + loadInt(b, width, row));
  }
}

/** Running sums that start anew at each range, as 32-bit values. */
export function sumInRanges(steps: usize, width: u32, starts: usize, rangeCount: u32, out: usize): void {
  for (let range: u32 = 0; range < rangeCount; range++) {
    const end = load<u32>(starts + ((range + 1) << 2));
    let sum: u32 = 0;
    for (let row = load<u32>(starts + (range << 2)); row < end; row++) {
      sum += loadInt(steps, width, row);
      store<u32>(out + (row << 2), sum);
    }
  }
}

/** Key codes to dictionary ids (segment/key-codes.ts). */
export function decodeKeys(codes: usize, width: u32, count: u32, highestBefore: i32, out: usize): void {
  let highest: u32 = <u32>highestBefore;
  for (let i: u32 = 0; i < count; i++) {
    const code = loadInt(codes, width, i);
    if ((code & 1) == 0) {
      highest += (code >> 1) + 1;
      store<u32>(out + (i << 2), highest);
    } else {
      store<u32>(out + (i << 2), code >> 1);
    }
  }
}

/** Post sides of token balances to the pre sides' coding: 0 is null, else position + 1. As wide as the wider side. */
export function resolvePost(pre: usize, preWidth: u32, post: usize, postWidth: u32, count: u32, out: usize): void {
  const width: u32 = preWidth > postWidth ? preWidth : postWidth;
  for (let row: u32 = 0; row < count; row++) {
    const code = loadInt(post, postWidth, row);
    storeInt(out, width, row, code == 0 ? 0 : code == 1 ? loadInt(pre, preWidth, row) : code - 1);
  }
}

// @ts-ignore: decorator
@inline
function storeInt(column: usize, width: u32, row: u32, value: u32): void {
  if (width == 1) store<u8>(column + row, <u8>value);
  else if (width == 2) store<u16>(column + (row << 1), <u16>value);
  else store<u32>(column + (row << 2), value);
}

/** All bits that 32-bit values have among them: what the narrowest column for them follows from. */
export function bitsOf(values: usize, count: u32): u32 {
  let bits: u32 = 0;
  for (let row: u32 = 0; row < count; row++) bits |= load<u32>(values + (row << 2));
  return bits;
}

/** 32-bit values to a column of that width. */
export function narrow(values: usize, count: u32, width: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) storeInt(out, width, row, load<u32>(values + (row << 2)));
}

/** A column into rows of `stride` values of that width, as their value number `place`. */
export function interleave(column: usize, width: u32, count: u32, place: u32, rowWidth: u32, stride: u32, out: usize): void {
  for (let row: u32 = 0, at = place; row < count; row++, at += stride) storeInt(out, rowWidth, at, loadInt(column, width, row));
}

/** A column as bytes, 255 for what is larger. */
export function capBytes(column: usize, width: u32, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) {
    const value = loadInt(column, width, row);
    store<u8>(out + row, <u8>(value < 255 ? value : 255));
  }
}

/** out[row] = pre[row] + unzigzag(change[row]), 64 bits each. */
export function applyChanges(pre: usize, preWidth: u32, change: usize, changeWidth: u32, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) {
    const folded = loadLong(change, changeWidth, row);
    const difference = (folded >> 1) ^ (0 - (folded & 1));
    store<u64>(out + (row << 3), loadLong(pre, preWidth, row) + difference);
  }
}

/** Instruction addresses as the text that goes out, from depths alone. Answers the end of the text. */
export function addressTexts(
  depths: usize,
  width: u32,
  starts: usize,
  transactionCount: u32,
  path: usize,
  textStarts: usize,
  out: usize,
): usize {
  const base = out;
  for (let transaction: u32 = 0; transaction < transactionCount; transaction++) {
    let length: u32 = 0;
    const end = load<u32>(starts + ((transaction + 1) << 2));
    for (let row = load<u32>(starts + (transaction << 2)); row < end; row++) {
      const depth = loadInt(depths, width, row);
      const last = path + ((depth - 1) << 2);
      store<u32>(last, depth <= length ? load<u32>(last) + 1 : 0);
      length = depth;
      store<u32>(textStarts + (row << 2), <u32>(out - base));
      store<u8>(out++, 0x5b);
      for (let i: u32 = 0; i < depth; i++) {
        if (i > 0) store<u8>(out++, 0x2c);
        out = writeUint(load<u32>(path + (i << 2)), out);
      }
      store<u8>(out++, 0x5d);
    }
  }
  return out;
}

/** The first 8 or 16 bytes of each range, zeros where it is shorter. The bytes have 16 spare ones after them. */
export function dataPrefixes(bytes: usize, starts: usize, count: u32, width: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++, out += width) {
    const start = load<u32>(starts + (row << 2));
    const length = load<u32>(starts + (row << 2), 4) - start;
    const from = bytes + start;
    store<u64>(out, length == 0 ? 0 : length >= 8 ? load<u64>(from) : load<u64>(from) & (<u64>-1 >> (64 - (length << 3))));
    if (width == 8) continue;
    const rest: u32 = length <= 8 ? 0 : length - 8;
    store<u64>(out, rest == 0 ? 0 : rest >= 8 ? load<u64>(from, 8) : load<u64>(from, 8) & (<u64>-1 >> (64 - (rest << 3))), 8);
  }
}
