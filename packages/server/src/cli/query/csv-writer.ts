import type { BlockWriter } from './block-writer.ts';
import type { RowSource } from './record-rows.ts';

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
  return `${cells.map(quote).join()}\n`;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
