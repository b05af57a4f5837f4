// Global variables for writing a batch of row groups: its keys, and the end of the output buffer.

/** The start of each transaction's keys, the ids of the keys, and for each id the address of its text, or 0. */
export let keyStarts: usize = 0;
export let keys: usize = 0;
export let keyTable: usize = 0;

export function setKeys(starts: usize, ids: usize, table: usize): void {
  keyStarts = starts;
  keys = ids;
  keyTable = table;
}

/** The end of the output buffer. */
export let limit: usize = 0;

export function setLimit(end: usize): void {
  limit = end;
}

/** The block that is written, by its number in the segment. */
export let block: u32 = 0;

export function setBlock(number: u32): void {
  block = number;
}
