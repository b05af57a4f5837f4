// Converts stored columns to the form that selection and writing use.
import { writeUint } from '../../../../base/src/assembly/integers';

/** Returns a value of a column that is as wide as its largest value requires. */
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

/** Computes the starts of ranges from their lengths. `out` has count + 1 values and may be the lengths themselves. Returns the total. */
export function startsOf(lengths: usize, count: u32, out: usize): u32 {
  let sum: u32 = 0;
  for (let row: u32 = 0; row < count; row++) {
    const length = load<u32>(lengths + (row << 2));
    store<u32>(out + (row << 2), sum);
    sum += length;
  }
  store<u32>(out + (count << 2), sum);
  return sum;
}

/** Adds the values of a column to those at `out`. */
export function addColumn(column: usize, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) {
    const at = out + (row << 2);
    store<u32>(at, load<u32>(at) + load<u32>(column + (row << 2)));
  }
}

/** Returns the sum of a column as a number of the host, because the sum of malformed values may exceed 32 bits. */
export function sumOf(column: usize, count: u32): f64 {
  let low = i64x2.splat(0);
  let high = i64x2.splat(0);
  const end = column + (count << 2);
  for (; column + 16 <= end; column += 16) {
    const values = v128.load(column);
    low = i64x2.add(low, i64x2.extend_low_i32x4_u(values));
    high = i64x2.add(high, i64x2.extend_high_i32x4_u(values));
  }
  const sums = i64x2.add(low, high);
  let sum: u64 = i64x2.extract_lane(sums, 0) + i64x2.extract_lane(sums, 1);
  for (; column < end; column += 4) sum += load<u32>(column);
  return <f64>sum;
}

/** Returns the highest value of a column, or 0 if it has none, as a number of the host: a result of 32 bits would be signed there. */
export function highestOf(column: usize, count: u32): f64 {
  let highest = i32x4.splat(0);
  const end = column + (count << 2);
  for (; column + 16 <= end; column += 16) highest = i32x4.max_u(highest, v128.load(column));
  let value = max<u32>(
    max<u32>(i32x4.extract_lane(highest, 0), i32x4.extract_lane(highest, 1)),
    max<u32>(i32x4.extract_lane(highest, 2), i32x4.extract_lane(highest, 3)),
  );
  for (; column < end; column += 4) value = max<u32>(value, load<u32>(column));
  return <f64>value;
}

/** Computes running sums that restart at each range. */
export function sumInRanges(steps: usize, starts: usize, rangeCount: u32, out: usize): void {
  for (let range: u32 = 0; range < rangeCount; range++) {
    const end = load<u32>(starts + ((range + 1) << 2));
    let sum: u32 = 0;
    for (let row = load<u32>(starts + (range << 2)); row < end; row++) {
      sum += load<u32>(steps + (row << 2));
      store<u32>(out + (row << 2), sum);
    }
  }
}

/** Converts post sides of token balances to the coding of the pre sides: 0 for null, otherwise position + 1. */
export function resolvePost(pre: usize, post: usize, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) {
    const code = load<u32>(post + (row << 2));
    store<u32>(out + (row << 2), code == 0 ? 0 : code == 1 ? load<u32>(pre + (row << 2)) : code - 1);
  }
}

/** out[row] = pre[row] + unzigzag(change[row]), 64 bits each. */
export function applyChanges(pre: usize, change: usize, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) {
    const folded = load<u64>(change + (row << 3));
    const difference = (folded >> 1) ^ (0 - (folded & 1));
    store<u64>(out + (row << 3), load<u64>(pre + (row << 3)) + difference);
  }
}

/**
 * Writes instruction addresses as JSON text. An address follows from the previous one and its own depth, or is stored in `oddSteps`. Stores
 * the start of each text and the end of the last one. Returns the end of the text.
 */
export function addressTexts(
  depths: usize, odd: usize, oddSteps: usize, starts: usize, transactionCount: u32, path: usize, textStarts: usize, out: usize,
): usize {
  const base = out;
  let count: u32 = 0;
  for (let transaction: u32 = 0; transaction < transactionCount; transaction++) {
    let length: u32 = 0;
    const end = load<u32>(starts + ((transaction + 1) << 2));
    for (let row = load<u32>(starts + (transaction << 2)); row < end; row++) {
      const depth = load<u32>(depths + (row << 2));
      if (load<u32>(odd + (row << 2)) != 0) {
        memory.copy(path, oddSteps, depth << 2);
        oddSteps += depth << 2;
      } else if (depth > 0) {
        const last = path + ((depth - 1) << 2);
        store<u32>(last, depth <= length ? load<u32>(last) + 1 : 0);
      }
      length = depth;
      store<u32>(textStarts + (row << 2), <u32>(out - base));
      store<u8>(out++, 0x5b);
      for (let i: u32 = 0; i < depth; i++) {
        if (i > 0) store<u8>(out++, 0x2c);
        out = writeUint(load<u32>(path + (i << 2)), out);
      }
      store<u8>(out++, 0x5d);
    }
    count = end;
  }
  store<u32>(textStarts + (count << 2), <u32>(out - base));
  return out;
}

/**
 * Turns numbers of transactions in a segment into their positions among the transactions in memory. `first` is the first transaction of
 * the row group and `firstPosition` the position of the first one in memory; `ranks` holds for each page how many pages before it are read.
 */
export function locateTransactions(
  list: usize, count: u32, first: u32, pageTransactions: u32, ranks: usize, firstPosition: u32, out: usize,
): void {
  for (let i: u32 = 0; i < count; i++) {
    const transaction = load<u32>(list + (i << 2)) - first;
    const page = transaction / pageTransactions;
    const rank = load<u32>(ranks + (page << 2));
    store<u32>(out + (i << 2), firstPosition + rank * pageTransactions + transaction - page * pageTransactions);
  }
}

/** Adds an offset to every code except 0, which stands for `null` in every row group. */
export function moveCodes(codes: usize, count: u32, by: u32): void {
  for (const end = codes + (count << 2); codes < end; codes += 4) {
    const code = load<u32>(codes);
    if (code != 0) store<u32>(codes, code + by);
  }
}
