// The selected rows of a table. `rows` has the row of each selected record in its columns, `transactions` the transaction that it belongs to.
// A function that may find nulls clears the bits of these rows in `valid`, in which all bits are set before, and returns their number.

// @ts-ignore: decorator
@inline
export function rowAt(list: usize, i: u32): u32 {
  return load<u32>(list + (i << 2));
}

// @ts-ignore: decorator
@inline
export function clearBit(bits: usize, i: u32): void {
  const at = bits + (i >> 3);
  store<u8>(at, load<u8>(at) & ~(<u8>1 << <u8>(i & 7)));
}

// @ts-ignore: decorator
@inline
export function setBit(bits: usize, i: u32, value: bool): void {
  const at = bits + (i >> 3);
  store<u8>(at, load<u8>(at) | (<u8>value << <u8>(i & 7)));
}

/** Returns whether the rows, which ascend, follow each other, so that their values can be copied at once. */
// @ts-ignore: decorator
@inline
export function isRun(rows: usize, count: u32): bool {
  return count > 0 && rowAt(rows, count - 1) - rowAt(rows, 0) == count - 1;
}

/**
 * Appends the flagged rows of the transactions from `first` up to `end` to the lists. `starts` has the first row of each transaction;
 * it is 0 for the table of transactions, whose rows are the transactions themselves. Returns the number of rows in the lists.
 */
export function collectRows(
  flags: usize, starts: usize, marks: usize, bit: u32, first: u32, end: u32,
  rows: usize, transactions: usize, count: u32,
): u32 {
  for (let transaction = first; transaction < end; transaction++) {
    if ((load<u8>(marks + transaction) & bit) == 0) continue;
    const rowFirst = starts == 0 ? transaction : rowAt(starts, transaction);
    const rowEnd = starts == 0 ? transaction + 1 : rowAt(starts, transaction + 1);
    for (let row = rowFirst; row < rowEnd; row++) {
      if (load<u8>(flags + row) == 0) continue;
      store<u32>(rows + (count << 2), row);
      store<u32>(transactions + (count << 2), transaction);
      count++;
    }
  }
  return count;
}

/** As `collectRows`, for rows that belong to blocks. */
export function collectBlockRows(flags: usize, first: u32, end: u32, rows: usize, count: u32): u32 {
  for (let row = first; row < end; row++) {
    if (load<u8>(flags + row) == 0) continue;
    store<u32>(rows + (count << 2), row);
    count++;
  }
  return count;
}

/** Returns the number of values in the ranges of the rows, as a number of the host. */
export function sumOfRanges(starts: usize, rows: usize, count: u32): f64 {
  let sum: u64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = rowAt(rows, i);
    sum += rowAt(starts, row + 1) - rowAt(starts, row);
  }
  return <f64>sum;
}
