import type { BlockWriter } from './block-writer.ts';
import type { RowSource } from './record-rows.ts';

/** Rows as RFC 4180 has them, with a heading, except that lines end in a line feed alone. */
export function createCsvWriter({ columns, rows }: RowSource): BlockWriter {
  return {
    begin: () => formatRow(columns),
    write: (block) => rows(block).map(formatRow).join(''),
    flush: () => '',
    end: () => '',
  };
}

function formatRow(cells: readonly string[]): string {
  return `${cells.map(quote).join()}\n`;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
