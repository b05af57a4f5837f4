// Gathers lists of integers: positions of instructions in the call tree, and lookups of addresses in tables.
import { loadInt } from '../columns';
import { rowAt } from './rows';

/** The row of the instruction that each log belongs to. `starts` has the first instruction of each transaction, the column their number in it. */
export function gatherInstructionRows(
  column: usize, width: u32, starts: usize, rows: usize, transactions: usize, count: u32, out: usize,
): void {
  for (let i: u32 = 0; i < count; i++) {
    store<u32>(out + (i << 2), rowAt(starts, rowAt(transactions, i)) + loadInt(column, width, rowAt(rows, i)));
  }
}

/** The positions of instructions in the call tree, from their texts. Returns the number of values. */
export function gatherPaths(texts: usize, textStarts: usize, rows: usize, count: u32, outStarts: usize, out: usize): u32 {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    store<u32>(outStarts + (i << 2), total);
    const end = texts + rowAt(textStarts, row + 1);
    let value: u32 = 0;
    // The text is a list of numbers in brackets. Each number ends with a comma or the last bracket.
    for (let at = texts + rowAt(textStarts, row) + 1; at < end; at++) {
      const digit: u32 = load<u8>(at) - 0x30;
      if (digit < 10) value = value * 10 + digit;
      else {
        store<u32>(out + (total++ << 2), value);
        value = 0;
      }
    }
  }
  store<u32>(outStarts + (count << 2), total);
  return total;
}

/** Lists the rows of the ranges of each transaction, and the transaction of each of these rows. */
export function gatherOwnedRows(starts: usize, transactions: usize, count: u32, outStarts: usize, rows: usize, owners: usize): void {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    const end = rowAt(starts, transaction + 1);
    store<u32>(outStarts + (i << 2), total);
    for (let row = rowAt(starts, transaction); row < end; row++, total++) {
      store<u32>(rows + (total << 2), row);
      store<u32>(owners + (total << 2), transaction);
    }
  }
  store<u32>(outStarts + (count << 2), total);
}

/** The first part of each row's range of values, whose lengths are in a column, or the rest of it. Returns the number of values. */
export function gatherParts(
  values: usize, width: u32, starts: usize, lengths: usize, lengthWidth: u32, isRest: bool,
  rows: usize, count: u32, outStarts: usize, out: usize,
): u32 {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    const middle = rowAt(starts, row) + loadInt(lengths, lengthWidth, row);
    store<u32>(outStarts + (i << 2), total);
    const end = isRest ? rowAt(starts, row + 1) : middle;
    for (let k = isRest ? middle : rowAt(starts, row); k < end; k++) store<u32>(out + (total++ << 2), loadInt(values, width, k));
  }
  store<u32>(outStarts + (count << 2), total);
  return total;
}
