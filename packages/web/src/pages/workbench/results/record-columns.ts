import type { QueryRun } from '../run-query.ts';
import { columnsOf, recordAt, type TableName } from './result-table.ts';

type ColumnWidth = 'slot' | 'number' | 'text' | 'wide';

export interface RecordColumn {
  readonly name: string;
  readonly width: ColumnWidth;
}

/** In rem. `workbench.css` has the same numbers. */
const widths: Readonly<Record<ColumnWidth, number>> = { slot: 7, number: 9, text: 11, wide: 28 };
const classes: Readonly<Record<ColumnWidth, string>> = {
  slot: 'cell-slot',
  number: 'cell-number',
  text: '',
  wide: 'cell-wide',
};
/** Texts that people read as a whole. */
const wideNames: readonly string[] = ['message', 'decoded'];
/** The space at the sides of a cell, and the width of a character of fixed width, in rem. */
const paddingRem = 1.2;
const characterRem = 0.463;

export const slotColumn: RecordColumn = { name: 'number', width: 'slot' };

/** Returns the columns of a table. The first record decides, because all have the same fields. */
export function listColumns(run: QueryRun, table: TableName): readonly RecordColumn[] {
  const first = recordAt(run, table, 0) ?? {};
  const fields = columnsOf(run, table).map((name): RecordColumn => {
    if (wideNames.includes(name)) return { name, width: 'wide' };
    const isNumber = typeof first[name] === 'number' || typeof first[name] === 'bigint';
    return { name, width: isNumber ? 'number' : 'text' };
  });
  return [slotColumn, ...fields];
}

export function cellClass({ width }: RecordColumn): string {
  return classes[width];
}

/** Returns the width of all columns as a length in CSS. */
export function totalWidth(columns: readonly RecordColumn[]): string {
  return `${columns.reduce((sum, { width }) => sum + widths[width], 0)}rem`;
}

/** Returns how many characters of fixed width a cell holds. */
export function characterCount({ width }: RecordColumn): number {
  return Math.floor((widths[width] - paddingRem) / characterRem);
}

/** The columns that are in view, by number; half-open. */
export interface ColumnRange {
  readonly first: number;
  readonly end: number;
}

/** Returns the columns that reach into a part of the row. All lengths are in rem. */
export function columnsBetween(
  columns: readonly RecordColumn[],
  left: number,
  right: number,
): ColumnRange {
  let start = 0;
  let range: ColumnRange = { first: columns.length, end: 0 };
  for (const [number, { width }] of columns.entries()) {
    const end = start + widths[width];
    if (end > left && start < right)
      range = { first: Math.min(range.first, number), end: number + 1 };
    start = end;
  }
  return range;
}
