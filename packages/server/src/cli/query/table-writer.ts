import { quoteCsv } from '@sluice/arrow/encode-table';
import { type Style, withoutControls } from '@sluice/base/terminal';
import type { BlockWriter } from './block-writer.ts';
import type { RowSource } from './record-rows.ts';

export interface TableOptions {
  /** The width of the terminal; undefined if lines may have any length. */
  readonly width: number | undefined;
  readonly style: (style: Style, text: string) => string;
}

/** The number of rows that determine the widths of columns. They are held back until then. */
const sampleRowCount = 50;
/** A longer value is shortened in the middle if the terminal is too narrow. */
const shortLength = 13;
const gap = '  ';

/** Writes a table. The first rows determine the widths of columns; longer values later shift the rest of their line. */
export function createTableWriter(
  { columns, rows }: RowSource,
  options: TableOptions,
): BlockWriter {
  let held: (readonly string[])[] | null = [];
  let layout: Layout | undefined;
  const printRow = (row: readonly string[]) => formatLine(row, layout as Layout);
  const print = () => {
    const sample = held ?? [];
    held = null;
    layout ??= chooseLayout(columns, sample, options);
    const heading = formatLine(columns, { ...layout, isShort: false }).trimEnd();
    return `${options.style('bold', heading)}\n${sample.map(printRow).join('')}`;
  };
  return {
    begin: () => '',
    write: (block) => {
      const added = rows(block).map((row) => row.map(withoutControls));
      if (held === null) return added.map(printRow).join('');
      held.push(...added);
      return held.length < sampleRowCount ? '' : print();
    },
    flush: () => (held === null || held.length === 0 ? '' : print()),
    end: () => '',
  };
}

interface Layout {
  readonly widths: readonly number[];
  readonly isShort: boolean;
}

function chooseLayout(
  columns: readonly string[],
  sample: readonly (readonly string[])[],
  { width }: TableOptions,
): Layout {
  const widthsOf = (isShort: boolean) =>
    columns.map((name, column) =>
      Math.max(name.length, ...sample.map((row) => shorten(row[column] ?? '', isShort).length)),
    );
  const widths = widthsOf(false);
  const total = widths.reduce((sum, columnWidth) => sum + columnWidth + gap.length, -gap.length);
  const isShort = width !== undefined && total > width;
  return { widths: isShort ? widthsOf(true) : widths, isShort };
}

function shorten(text: string, isShort: boolean): string {
  if (!isShort || text.length <= shortLength) return text;
  return `${text.slice(0, 6)}…${text.slice(-6)}`;
}

function formatLine(row: readonly string[], { widths, isShort }: Layout): string {
  const cells = row.map((text, column) => shorten(text, isShort).padEnd(widths[column] ?? 0));
  return `${cells.join(gap).trimEnd()}\n`;
}

/** Writes CSV according to RFC 4180 with a heading, except that lines end with a line feed alone. */
export function createCsvWriter({ columns, rows }: RowSource): BlockWriter {
  return {
    begin: () => formatRow(columns),
    write: (block) => rows(block).map(formatRow).join(''),
    flush: () => '',
    end: () => '',
  };
}

function formatRow(cells: readonly string[]): string {
  return `${cells.map(quoteCsv).join()}\n`;
}
