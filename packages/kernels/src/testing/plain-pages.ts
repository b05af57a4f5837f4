/** A simple encoder of pages after docs/segment-format.md, to compare the kernels with. */

/** The same numbers as in `assembly/common/pages.ts`. */
export const PLAIN_CODING = { int: 0, long: 1, bytes: 2, delta: 3, keys: 4 } as const;

export interface PlainColumn {
  readonly coding: number;
  readonly domain: number;
  /** The domain whose rows the column counts, plus one; 0 if it counts none. */
  readonly adds: number;
  /** Bytes per value, for columns of bytes. */
  readonly unit: number;
  /** Bytes if the coding is bytes, otherwise integers. */
  readonly values: ArrayLike<number> | ArrayLike<bigint>;
}

/** The number of rows by transaction and domain. Columns that count rows add to it. */
export type PlainCounts = number[][];

interface PageOptions {
  readonly pageTransactions: number;
  /** The highest key id before the row group, or -1. */
  readonly highestBefore: number;
}

/** Returns the pages of one section, not compressed. */
export function encodePlainly(
  columns: readonly PlainColumn[],
  counts: PlainCounts,
  { pageTransactions, highestBefore }: PageOptions,
): Uint8Array[] {
  const open = columns.map((column) => ({ column, row: 0, before: 0, highest: highestBefore }));
  const pages: Uint8Array[] = [];
  for (let first = 0; first < counts.length; first += pageTransactions) {
    const out: number[] = [];
    for (const own of open) {
      own.before = 0;
      if (own.column.coding === PLAIN_CODING.keys)
        pushVarint(out, BigInt(own.highest - highestBefore));
    }
    for (const rows of counts.slice(first, first + pageTransactions))
      for (const own of open) pushRows(out, own, rows);
    pages.push(Uint8Array.from(out));
  }
  return pages;
}

/** A column while it is written. */
interface OpenColumn {
  readonly column: PlainColumn;
  /** The next row. */
  row: number;
  /** The previous value in the page. */
  before: number;
  highest: number;
}

/** Writes the values of one transaction in a column, and adds the rows that the column counts. */
function pushRows(out: number[], open: OpenColumn, rows: number[]): void {
  const { coding, domain, adds, unit, values } = open.column;
  const end = open.row + (rows[domain] as number);
  if (coding === PLAIN_CODING.bytes)
    for (let at = open.row * unit; at < end * unit; at++) out.push(Number(values[at]));
  for (; open.row < end; open.row++) {
    if (coding === PLAIN_CODING.bytes) continue;
    const value = values[open.row] as number | bigint;
    if (adds > 0) rows[adds - 1] = (rows[adds - 1] ?? 0) + Number(value);
    pushValue(out, open, value);
  }
}

function pushValue(out: number[], open: OpenColumn, value: number | bigint): void {
  if (open.column.coding === PLAIN_CODING.delta) {
    const step = (Number(value) - open.before) | 0;
    pushVarint(out, BigInt(step < 0 ? -2 * step - 1 : 2 * step));
    open.before = Number(value);
  } else if (open.column.coding === PLAIN_CODING.keys) {
    open.highest = pushKey(out, Number(value), open.highest);
  } else pushVarint(out, BigInt(value));
}

/** Returns the highest id so far. */
function pushKey(out: number[], id: number, highest: number): number {
  if (id <= highest) {
    pushVarint(out, BigInt(id + 2));
    return highest;
  }
  if (id === highest + 1) out.push(0);
  else {
    out.push(1);
    pushVarint(out, BigInt(id - highest - 1));
  }
  return id;
}

export function pushVarint(out: number[], value: bigint): void {
  let rest = value;
  for (; rest >= 128n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
}
