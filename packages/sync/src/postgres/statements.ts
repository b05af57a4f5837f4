/** The statements of SQL that do not depend on the state of a table, and the tables in which the state is stored. */
import { createHash } from 'node:crypto';
import { buildWriter, type WriteValue } from '../column-types.ts';
import type { Row } from '../row-builder.ts';
import type { Column, TablePlan } from '../table-plan.ts';

/**
 * `sluice.tables` has a row for each table: its definition and its position. `generation` grows with every process that opens the table;
 * a process whose generation is not the stored one has been replaced and cannot commit. `sluice.spans` has the parts of a load.
 */
export const stateSchema = `
create schema if not exists sluice;
create table if not exists sluice.tables (
  table_name text primary key,
  definition jsonb not null,
  indexes jsonb not null,
  generation bigint not null,
  phase text not null,
  cursor jsonb,
  next_block bigint,
  first_block bigint,
  fill jsonb,
  slot bigint,
  block_time timestamptz,
  row_count bigint not null,
  fork_count bigint not null,
  updated_at timestamptz not null);
create table if not exists sluice.spans (
  table_name text not null references sluice.tables on delete cascade,
  first bigint not null,
  last bigint not null,
  cursor jsonb,
  is_done boolean not null,
  primary key (table_name, first));`;

/** Names of tables and columns have only lower-case letters, digits and `_`, but may be key words. */
export const quote = (name: string) => `"${name}"`;

export const quoteTable = (name: string) => name.split('.').map(quote).join('.');

export function columnList(columns: readonly Column[]): string {
  return columns.map(({ name }) => quote(name)).join(', ');
}

export function createTable({ name, columns }: TablePlan): string {
  const lines = columns.map(
    (column) => `  ${quote(column.name)} ${column.type.sql}${column.isKey ? ' not null' : ''}`,
  );
  return `create table ${quoteTable(name)} (\n${lines.join(',\n')});`;
}

/** The primary key also finds the rows of replaced blocks, because it starts with the slot. */
export function createKey({ name, columns }: TablePlan): string {
  const keys = columns.filter(({ isKey }) => isKey);
  return `alter table ${quoteTable(name)} add primary key (${columnList(keys)});`;
}

export function createIndex(table: string, columns: readonly string[]): string {
  return `create index on ${quoteTable(table)} (${columns.map(quote).join(', ')});`;
}

export function copyInto({ name, columns }: TablePlan): string {
  return `copy ${quoteTable(name)} (${columnList(columns)}) from stdin`;
}

export function columnWriters(columns: readonly Column[]): readonly WriteValue[] {
  return columns.map(({ type }) => buildWriter(type));
}

/** Returns the rows in the text form of COPY. */
export function encodeRows(rows: readonly Row[], writers: readonly WriteValue[]): Buffer {
  let text = '';
  for (const row of rows) {
    for (let i = 0; i < writers.length; i++) {
      if (i > 0) text += '\t';
      text += writers[i]?.(row[i]);
    }
    text += '\n';
  }
  return Buffer.from(text, 'utf8');
}

/** The number of the advisory lock of a table. */
export function lockKey(table: string): bigint {
  return createHash('sha256').update(`sluice sync ${table}`).digest().readBigInt64BE(0);
}
