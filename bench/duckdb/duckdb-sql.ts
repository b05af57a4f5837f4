/**
 * Translates a query to SQL for DuckDB: the same filters, joins and relations. The result has the same arrays for each
 * block. Only joining them into lines is left to the reader of the rows, because joining and sorting megabytes of text
 * would cost DuckDB more than generating them.
 *
 *   found_0 … found_n   the records that items match, one table scan per set of relations
 *   keys_<kind>         the transactions of which all records of a kind are included
 *   array_<kind>        the records of a kind as text, one row per block
 *   result              rows (block, array number, text); 0 is the header
 */
import { assert } from '@sluice/base/assert';
import type { Query } from '@sluice/server/dist/query/query.js';
import type { TableName } from './tables.ts';

export type RecordTable = Exclude<TableName, 'blocks'>;

/** Where the rows are: the FROM clause of a table, and the column with the position of a row. */
export interface DuckdbSource {
  from(table: TableName): string;
  readonly position: string;
}

export interface DuckdbRange {
  readonly first: number;
  readonly last: number;
}

/** The arrays in the order in which a line has them. */
export const arrays: readonly RecordTable[] = [
  'transactions',
  'instructions',
  'logs',
  'balances',
  'tokenBalances',
  'rewards',
];

const fieldKinds = {
  transactions: 'transaction',
  instructions: 'instruction',
  logs: 'log',
  balances: 'balance',
  tokenBalances: 'tokenBalance',
  rewards: 'reward',
} as const;

interface Selection {
  readonly table: RecordTable;
  readonly relations: ReadonlySet<string>;
  readonly conditions: string[];
  readonly name: string;
}

/** The conditions that select the rows of one kind. */
interface RowConditions {
  /** Conditions on the row itself. */
  readonly rows: string[];
  /** Sets of transactions of which all rows are included. */
  readonly transactions: string[];
  /** Sets of instructions that are included with all their descendants. */
  readonly calls: string[];
  /** Sets of records whose instruction address a row must have. */
  readonly addresses: string[];
}

/** The table of the rows that a flag includes, and how they are joined. */
const relationTargets: Readonly<
  Record<string, readonly [table: RecordTable, join: Exclude<keyof RowConditions, 'rows'>]>
> = {
  'instructions.transaction': ['transactions', 'transactions'],
  'instructions.transactionBalances': ['balances', 'transactions'],
  'instructions.transactionTokenBalances': ['tokenBalances', 'transactions'],
  'instructions.transactionInstructions': ['instructions', 'transactions'],
  'instructions.innerInstructions': ['instructions', 'calls'],
  'instructions.logs': ['logs', 'addresses'],
  'transactions.instructions': ['instructions', 'transactions'],
  'transactions.balances': ['balances', 'transactions'],
  'transactions.tokenBalances': ['tokenBalances', 'transactions'],
  'transactions.logs': ['logs', 'transactions'],
  'balances.transaction': ['transactions', 'transactions'],
  'balances.transactionInstructions': ['instructions', 'transactions'],
  'tokenBalances.transaction': ['transactions', 'transactions'],
  'tokenBalances.transactionInstructions': ['instructions', 'transactions'],
  'tokenBalances.transactionBalances': ['balances', 'transactions'],
  'tokenBalances.transactionTokenBalances': ['tokenBalances', 'transactions'],
  'logs.transaction': ['transactions', 'transactions'],
  'logs.instruction': ['instructions', 'addresses'],
};

export function buildDuckdbSql(query: Query, source: DuckdbSource, range: DuckdbRange): string {
  const selections = groupItems(query);
  const conditions = new Map(arrays.map((table) => [table, conditionsOf(table, selections)]));
  const scan = (table: TableName) => {
    const key = table === 'blocks' ? '"number"' : 'block';
    const { first, last } = range;
    return `(SELECT *, ${source.position} AS position FROM ${source.from(table)} WHERE ${key} BETWEEN ${first} AND ${last})`;
  };
  const parts: string[] = [];
  for (const set of selections) {
    if (set.relations.size > 0) parts.push(selectionPart(set, scan(set.table)));
  }
  const present = arrays.filter((table) => isPresent(conditions.get(table) as RowConditions));
  for (const table of present) {
    parts.push(
      ...arrayParts(table, conditions.get(table) as RowConditions, { query, from: scan(table) }),
    );
  }
  const head = parts.length === 0 ? '' : `WITH ${parts.join(',\n')}\n`;
  return head + resultPart(query, { present, from: scan('blocks') });
}

/** Groups items of one table with the same flags, so that the table is scanned once for all of them. */
function groupItems(query: Query): Selection[] {
  const sets = new Map<string, Selection>();
  for (const table of arrays) {
    for (const item of query[table]) {
      const relations = Object.entries(item.relations)
        .filter(([, isOn]) => isOn)
        .map(([name]) => name);
      const key = `${table} ${relations.join()}`;
      const name = `found_${sets.size}`;
      const set = sets.get(key) ?? { table, relations: new Set(relations), conditions: [], name };
      set.conditions.push(conditionOf(table, item.filters));
      sets.set(key, set);
    }
  }
  return [...sets.values()];
}

function conditionsOf(table: RecordTable, selections: readonly Selection[]): RowConditions {
  const conditions: RowConditions = { rows: [], transactions: [], calls: [], addresses: [] };
  for (const set of selections) {
    // An address is a prefix of itself, so a search for descendants also finds the instruction.
    const isCaller = set.table === table && set.relations.has('innerInstructions');
    if (set.table === table && !isCaller) conditions.rows.push(anyOf(set.conditions));
    for (const relation of set.relations) {
      const target = relationTargets[`${set.table}.${relation}`];
      assert(target !== undefined, `there is SQL for ${set.table}.${relation}`);
      if (target[0] === table) conditions[target[1]].push(set.name);
    }
  }
  return conditions;
}

function isPresent({ rows, transactions, calls, addresses }: RowConditions): boolean {
  return rows.length + transactions.length + calls.length + addresses.length > 0;
}

function selectionPart({ name, table, conditions }: Selection, from: string): string {
  const hasAddress = table === 'instructions' || table === 'logs';
  const address = hasAddress ? ', instructionAddress' : '';
  return `${name} AS MATERIALIZED (SELECT block, transactionIndex${address} FROM ${from} WHERE ${anyOf(conditions)})`;
}

function arrayParts(
  table: RecordTable,
  selected: RowConditions,
  { query, from }: { query: Query; from: string },
): string[] {
  const parts: string[] = [];
  const joins: string[] = [];
  const conditions: string[] = [];
  const whole = selected.rows.includes('true');
  if (selected.rows.length > 0) conditions.push(anyOf(selected.rows));
  const keyed = (alias: string, columns: string) =>
    `${alias} ON ${columns
      .split(' ')
      .map((column) => `${alias}.${column} = r.${column}`)
      .join(' AND ')}`;
  const add = (alias: string, sets: readonly string[], columns: string) => {
    if (whole || sets.length === 0) return;
    const list = columns.replaceAll(' ', ', ');
    const all = sets.map((set) => `SELECT ${list} FROM ${set}`).join(' UNION ALL ');
    parts.push(`${alias}_${table} AS MATERIALIZED (SELECT DISTINCT ${list} FROM (${all}))`);
    joins.push(`${alias}_${table} ${keyed(alias, columns)}`);
    conditions.push(`${alias}.block IS NOT NULL`);
  };
  add('keys', selected.transactions, 'block transactionIndex');
  add('addresses', selected.addresses, 'block transactionIndex instructionAddress');
  if (!whole && selected.calls.length > 0) {
    const all = selected.calls.map((set) => `SELECT * FROM ${set}`).join(' UNION ALL ');
    parts.push(
      `calls_${table} AS MATERIALIZED (SELECT block, transactionIndex, list(instructionAddress) AS callers FROM (${all}) GROUP BY ALL)`,
    );
    joins.push(`calls_${table} ${keyed('calls', 'block transactionIndex')}`);
    conditions.push(
      '(calls.block IS NOT NULL AND len(list_filter(calls.callers, lambda caller: r.instructionAddress[1:len(caller)] = caller)) > 0)',
    );
  }
  // With a single condition, rows that fail the join can be dropped at once.
  const join = conditions.length === 1 ? 'JOIN' : 'LEFT JOIN';
  const record = recordText(table, query);
  parts.push(
    `array_${table} AS (SELECT r.block, string_agg(${record}, ',' ORDER BY r.position) AS texts FROM ${from} r${joins
      .map((text) => ` ${join} ${text}`)
      .join('')} WHERE ${whole ? 'true' : anyOf(conditions)} GROUP BY r.block)`,
  );
  return parts;
}

function recordText(table: RecordTable, query: Query): string {
  const names: readonly string[] = query.fields[fieldKinds[table]];
  // The error is stored as JSON text.
  const members = names.map((name) => `"${name}": r."${name}"${name === 'err' ? '::JSON' : ''}`);
  return `to_json({${members.join(', ')}})::VARCHAR`;
}

/** Returns the rows of a line: its header as array 0, then its arrays by number. */
function resultPart(
  query: Query,
  { present, from }: { present: readonly RecordTable[]; from: string },
): string {
  const names: readonly string[] = query.fields.block;
  // The table has the parent's number under one name, the wire under two.
  const column = (name: string) => (name === 'parentNumber' ? 'parentSlot' : name);
  const members = names.map((name) => `"${name}": r."${column(name)}"`);
  const header = `to_json({${members.join(', ')}})::VARCHAR`;
  const texts = present.map(
    (table) => `SELECT block, ${arrays.indexOf(table) + 1}, texts FROM array_${table}`,
  );
  return [`SELECT r."number", 0, ${header} FROM ${from} r`, ...texts].join(' UNION ALL ');
}

type Filters = Readonly<Record<string, readonly string[] | boolean | undefined>>;

function conditionOf(table: RecordTable, filters: object): string {
  const conditions = Object.entries(filters as Filters).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (typeof value === 'boolean') return [`${name} = ${value}`];
    return value.length === 0 ? ['false'] : [filterText(table, name, value)];
  });
  return conditions.length === 0 ? 'true' : `(${conditions.join(' AND ')})`;
}

function filterText(table: RecordTable, name: string, values: readonly string[]): string {
  const list = values.map((value) => `'${value}'`).join();
  const position = /^a(\d+)$/.exec(name)?.[1];
  if (position !== undefined) return `accounts[${Number(position) + 1}] IN (${list})`;
  if (name === 'mentionsAccount') {
    const columns =
      table === 'instructions'
        ? ['accounts']
        : ['accountKeys', 'loadedAddresses."writable"', 'loadedAddresses."readonly"'];
    return anyOf(
      columns.flatMap((column) => values.map((value) => `list_contains(${column}, '${value}')`)),
    );
  }
  assert(!/^d[3567]$|^discriminator$/.test(name), 'the tables have columns for d1, d2, d4 and d8');
  return `${name === 'pubkey' ? 'pubKey' : name} IN (${list})`;
}

function anyOf(conditions: readonly string[]): string {
  if (conditions.length === 0) return 'false';
  return conditions.length === 1 ? (conditions[0] as string) : `(${conditions.join(' OR ')})`;
}
