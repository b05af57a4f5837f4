/** Writes results to files: JSON lines as the service sends them, or the records of one kind as CSV. */
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { writeJson } from '../../../base/write-json.ts';
import type { QueryRun, ResultBlock } from '../run-query.ts';
import { columnsOf, countRows, recordAt, slotAt, type TableName } from './result-table.ts';

/** Returns a block as in a line of the response, without empty arrays. */
export function toLine(block: ResultBlock): object {
  const arrays = RECORD_ARRAY_NAMES.filter((name) => block[name].length > 0);
  return { header: block.header, ...Object.fromEntries(arrays.map((name) => [name, block[name]])) };
}

export function writeLines(run: QueryRun): readonly string[] {
  return run.blocks.map((block) => `${writeJson(toLine(block))}\n`);
}

export function writeCsv(run: QueryRun, table: TableName): readonly string[] {
  const columns = columnsOf(run, table);
  const lines = [`${['slot', ...columns].join(',')}\r\n`];
  for (let row = 0; row < countRows(run, table); row++) {
    const record = recordAt(run, table, row) ?? {};
    const cells = [slotAt(run, table, row), ...columns.map((name) => record[name])];
    lines.push(`${cells.map(writeCell).join(',')}\r\n`);
  }
  return lines;
}

function writeCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : writeJson(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
