/** The results as tables: one for each kind of record, and one for the headers of the blocks. */
import type { RecordArray } from '@sluice/protocol/field-table';
import type { QueryRun, ResultRecord } from '../run-query.ts';

/** A kind of record, or the headers of the blocks. */
export type TableName = RecordArray | 'blocks';

export function countRows(run: QueryRun, table: TableName): number {
  return table === 'blocks' ? run.blocks.length : run.records[table].length;
}

export function recordAt(run: QueryRun, table: TableName, row: number): ResultRecord | undefined {
  return table === 'blocks' ? run.blocks[row]?.header : run.records[table][row];
}

export function slotAt(run: QueryRun, table: TableName, row: number): number | undefined {
  return table === 'blocks' ? run.blocks[row]?.header.number : run.slots[table][row];
}

/** All records of a kind have the same fields. */
export function columnsOf(run: QueryRun, table: TableName): readonly string[] {
  const names = Object.keys(recordAt(run, table, 0) ?? {});
  return table === 'blocks' ? names.filter((name) => name !== 'number') : names;
}
