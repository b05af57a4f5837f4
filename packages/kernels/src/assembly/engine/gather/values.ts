// Gathers values of a fixed size into the buffers of Arrow columns: integers, and bits.
import { loadInt, loadLong } from '../columns';
import { clearBit, isRun, rowAt, setBit } from './rows';

/** Adds `plus` to each value. */
export function gatherInts(column: usize, width: u32, plus: u32, rows: usize, count: u32, out: usize): void {
  if (width == 4 && plus == 0 && isRun(rows, count)) return memory.copy(out, column + (rowAt(rows, 0) << 2), count << 2);
  for (let i: u32 = 0; i < count; i++) store<u32>(out + (i << 2), loadInt(column, width, rowAt(rows, i)) + plus);
}

/** The value of each row's transaction. */
export function gatherTransactionInts(column: usize, width: u32, transactions: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) store<u32>(out + (i << 2), loadInt(column, width, rowAt(transactions, i)));
}

export function gatherLongs(column: usize, width: u32, rows: usize, count: u32, out: usize): void {
  if (width == 8 && isRun(rows, count)) return memory.copy(out, column + (rowAt(rows, 0) << 3), count << 3);
  for (let i: u32 = 0; i < count; i++) store<u64>(out + (i << 3), loadLong(column, width, rowAt(rows, i)));
}

/** Integers that are stored plus one, with 0 for null. */
export function gatherIntsOrNull(column: usize, width: u32, rows: usize, count: u32, out: usize, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const value = loadInt(column, width, rowAt(rows, i));
    store<u32>(out + (i << 2), value == 0 ? 0 : value - 1);
    if (value != 0) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

/** Finds the rows whose null flag has the bit. `width` is the number of bytes between two flags. */
export function gatherNulls(flags: usize, width: u32, bit: u32, rows: usize, count: u32, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    if ((load<u8>(flags + rowAt(rows, i) * width) & bit) == 0) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

/** `out` has only zeros before. */
export function gatherFlags(column: usize, width: u32, mask: u32, rows: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) setBit(out, i, (loadInt(column, width, rowAt(rows, i)) & mask) != 0);
}

/** The outcome of each row's transaction; an unknown one is null. `out` has only zeros before. */
export function gatherOutcomes(column: usize, width: u32, rows: usize, count: u32, out: usize, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const outcome = loadInt(column, width, rowAt(rows, i)) & 3;
    setBit(out, i, outcome == 1);
    if (outcome != 2) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}
