/**
 * What a user wants to have in a table: a query, and the columns. It comes from a file in YAML or from options of the command.
 *
 *   tables:
 *     swaps:
 *       instructions: [{ programId: 7ZsG…, name: swap, isCommitted: true }]
 *       columns:
 *         user: accounts.user
 *         amount_in: shift(args.amount_in, decimals(accounts.input_mint))
 *         pool: { value: accounts.pool, type: bytea }
 *       indexes: [[pool, block_time]]
 */
import { CodedError } from '@sluice/base/errors';
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import { hasMembers, messageOf } from '@sluice/protocol/unknown-value';
import { parse } from 'yaml';

/** The records that are the rows of a table. An event is a row for each event that the selected instructions emitted. */
export type TableSource = RecordArray | 'blocks' | 'events';

/** The name of a ready-made table for each kind of records. */
export const READY_TABLES: Readonly<Record<string, TableSource>> = {
  blocks: 'blocks',
  transactions: 'transactions',
  instructions: 'instructions',
  logs: 'logs',
  balances: 'balances',
  token_balances: 'tokenBalances',
  rewards: 'rewards',
};

export interface ColumnSpec {
  readonly name: string;
  /** An expression, such as `args.amount`. */
  readonly value: string;
  /** The type in the database; by default the one that fits the value. */
  readonly type?: string;
}

export interface TableSpec {
  /** The name in the database, with a schema or without one. */
  readonly name: string;
  readonly source: TableSource;
  /** The items of the query. */
  readonly items: readonly Readonly<Record<string, unknown>>[];
  /** Undefined for the default columns. */
  readonly columns: readonly ColumnSpec[] | undefined;
  /** Lists of columns. */
  readonly indexes: readonly (readonly string[])[];
  /** The first slot; by default the first of the dataset. */
  readonly fromBlock: number | undefined;
}

const sources: readonly TableSource[] = ['blocks', 'events', ...RECORD_ARRAY_NAMES];
const tableKeys = [...sources, 'columns', 'indexes', 'fromBlock'];
/** The tables of a file, and the columns, indexes and items of a table. PostgreSQL allows 1,600 columns. */
const tableCountMax = 200;
const columnCountMax = 1_000;
const indexCountMax = 50;
const itemCountMax = 1_000;
/** The names that need no quotes in SQL. */
const namePattern = /^[a-z_][a-z0-9_]{0,62}$/;
const nameRule = 'lower-case letters, digits and _, at most 63, not starting with a digit';

/** Parses the text of a file of tables. Throws `sync-tables-invalid`. */
export function parseTablesFile(text: string): readonly TableSpec[] {
  const tables = membersOf(parseYaml(text), 'the file', 'a key "tables"')['tables'];
  const entries = Object.entries(membersOf(tables, 'tables', 'tables by name'));
  if (entries.length === 0) throw invalid('tables', 'at least one table', 'none');
  checkCount(entries, tableCountMax, 'tables');
  return entries.map(([name, value]) => parseTable(name, value));
}

function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw invalid('the file', 'YAML', messageOf(error).split('\n')[0]);
  }
}

/** Returns the table of a single instruction or event, of a program. */
export function specOfProgram(options: {
  readonly table: string;
  readonly programId: string;
  readonly instruction?: string | undefined;
  readonly event?: string | undefined;
  readonly fromBlock?: number | undefined;
}): TableSpec {
  const { table, programId, instruction, event, fromBlock } = options;
  if (instruction !== undefined && event !== undefined) {
    const fault = 'cannot be combined with --instruction';
    throw new CodedError('cli-usage', { option: '--event', fault });
  }
  const name = event ?? instruction;
  const item = { programId, ...(name === undefined ? {} : { name }), isCommitted: true };
  return {
    name: checkTableName(table),
    source: event === undefined ? 'instructions' : 'events',
    items: [item],
    columns: undefined,
    indexes: [],
    fromBlock,
  };
}

/** Returns a ready-made table, or undefined if there is none of this name. */
export function specOfReadyTable(name: string, fromBlock?: number): TableSpec | undefined {
  const source = READY_TABLES[name.replace(/^.*\./, '')];
  if (source === undefined) return undefined;
  return {
    name: checkTableName(name),
    source,
    items: [{}],
    columns: undefined,
    indexes: [],
    fromBlock,
  };
}

function parseTable(name: string, value: unknown): TableSpec {
  const path = `tables.${name}`;
  checkTableName(name, path);
  const table = value === null ? {} : membersOf(value, path, 'a query and columns');
  for (const key of Object.keys(table)) {
    if (!tableKeys.includes(key))
      throw invalid(`${path}.${key}`, `one of ${tableKeys.join(' ')}`, key);
  }
  const given = sources.filter((source) => table[source] !== undefined);
  const ready = READY_TABLES[name.replace(/^.*\./, '')];
  const [source = ready, another] = given;
  if (source === undefined || another !== undefined)
    throw invalid(path, `one of ${sources.join(' ')}`, given.join(' ') || 'none');
  return {
    name,
    source,
    items: parseItems(table[source], `${path}.${source}`),
    columns: parseColumns(table['columns'], `${path}.columns`),
    indexes: parseIndexes(table['indexes'], `${path}.indexes`),
    fromBlock: parseSlot(table['fromBlock'], `${path}.fromBlock`),
  };
}

export function checkTableName(name: string, path = '--table'): string {
  const parts = name.split('.');
  if (parts.length <= 2 && parts.every((part) => namePattern.test(part))) return name;
  throw invalid(path, `NAME or SCHEMA.NAME of ${nameRule}`, name);
}

function parseItems(value: unknown, path: string): TableSpec['items'] {
  if (value === undefined || value === null) return [{}];
  const items = Array.isArray(value) ? value : [value];
  if (items.length === 0) throw invalid(path, 'at least one item; {} selects all records', '[]');
  checkCount(items, itemCountMax, path);
  return items.map((item, i) => membersOf(item, `${path}[${i}]`, 'filters by name'));
}

function parseColumns(value: unknown, path: string): readonly ColumnSpec[] | undefined {
  if (value === undefined || value === null) return undefined;
  const columns = Object.entries(membersOf(value, path, 'values by the name of the column'));
  checkCount(columns, columnCountMax, path);
  return columns.map(([name, column]) => parseColumn(name, column, `${path}.${name}`));
}

function parseColumn(name: string, column: unknown, path: string): ColumnSpec {
  if (!namePattern.test(name)) throw invalid(path, nameRule, name);
  if (typeof column === 'string') return { name, value: column };
  const { value, type, ...rest } = membersOf(column, path, 'a value, or { value, type }');
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw invalid(`${path}.${unknown}`, 'value or type', unknown);
  if (typeof value !== 'string') throw invalid(`${path}.value`, 'a value', String(value));
  if (type === undefined) return { name, value };
  if (typeof type !== 'string') throw invalid(`${path}.type`, 'a type of SQL', String(type));
  return { name, value, type };
}

function parseIndexes(value: unknown, path: string): TableSpec['indexes'] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid(path, 'a list of lists of columns', String(value));
  checkCount(value, indexCountMax, path);
  return value.map((columns: unknown, i) => {
    const list: readonly unknown[] = Array.isArray(columns) ? columns : [columns];
    const names = list.filter((name) => typeof name === 'string');
    if (list.length > 0 && names.length === list.length) return names;
    throw invalid(`${path}[${i}]`, 'a list of columns', JSON.stringify(columns));
  });
}

function parseSlot(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(path, 'a slot', String(value));
}

function checkCount(list: readonly unknown[], countMax: number, path: string): void {
  if (list.length > countMax) throw invalid(path, `at most ${countMax}`, String(list.length));
}

function membersOf(value: unknown, path: string, expected: string): Record<string, unknown> {
  if (hasMembers(value) && !Array.isArray(value)) return value;
  throw invalid(path, expected, value === undefined ? 'nothing' : JSON.stringify(value));
}

export function invalid(path: string, expected: string, found?: string): CodedError {
  const detail = { path, expected, ...(found === undefined ? {} : { found }) };
  return new CodedError('sync-tables-invalid', detail);
}
