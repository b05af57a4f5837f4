/** Pages written as plainly as docs/segment-format.md describes them, to compare the kernels with. */

/** The numbers of `assembly/shared/pages.ts`. */
export const PLAIN_CODING = { int: 0, long: 1, bytes: 2, delta: 3, keys: 4 } as const;

export interface PlainColumn {
  readonly coding: number;
  readonly domain: number;
  /** Domain plus one whose rows the column counts; 0 if it counts none. */
  readonly adds: number;
  /** Bytes a value, where values are bytes. */
  readonly unit: number;
  /** Bytes where the coding is bytes, else integers. */
  readonly values: ArrayLike<number> | ArrayLike<bigint>;
}

/** By transaction and domain the number of rows. Columns that count add to it. */
export type PlainCounts = number[][];

/** The pages of one section, not compressed. */
export function encodePlainly(
  columns: readonly PlainColumn[],
  counts: PlainCounts,
  { pageTransactions, highestBefore }: { pageTransactions: number; highestBefore: number },
): Uint8Array[] {
  const pages: Uint8Array[] = [];
  const cursors = columns.map(() => 0);
  const highest = columns.map(() => highestBefore);
  for (let first = 0; first < counts.length; first += pageTransactions) {
    const out: number[] = [];
    const before = columns.map(() => 0);
    columns.forEach(({ coding }, i) => {
      if (coding === PLAIN_CODING.keys)
        pushVarint(out, BigInt((highest[i] as number) - highestBefore));
    });
    for (const own of counts.slice(first, first + pageTransactions)) {
      columns.forEach((column, i) => {
        const count = own[column.domain] as number;
        const start = cursors[i] as number;
        cursors[i] = start + count;
        if (column.coding === PLAIN_CODING.bytes) {
          for (let at = start * column.unit; at < (start + count) * column.unit; at++)
            out.push(Number(column.values[at]));
          return;
        }
        for (let row = start; row < start + count; row++) {
          const value = BigInt(column.values[row] as number | bigint);
          if (column.adds > 0) own[column.adds - 1] = (own[column.adds - 1] ?? 0) + Number(value);
          if (column.coding === PLAIN_CODING.delta) {
            const step = (Number(value) - (before[i] as number)) | 0;
            pushVarint(out, BigInt(step < 0 ? -2 * step - 1 : 2 * step));
            before[i] = Number(value);
          } else if (column.coding === PLAIN_CODING.keys) {
            highest[i] = pushKey(out, Number(value), highest[i] as number);
          } else pushVarint(out, value);
        }
      });
    }
    pages.push(Uint8Array.from(out));
  }
  return pages;
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
