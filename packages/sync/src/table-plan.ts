/** Converts the description of a table to the query of its rows, its columns, and a function that makes rows of a block. */
import { CodedError } from '@sluice/base/errors';
import { findNearestName } from '@sluice/base/find-nearest-name';
import type { ProgramInterface, Query } from '@sluice/client';
import { defaultFieldNames, KINDS, type RecordArray } from '@sluice/protocol/field-table';
import { filterRows, replacedRows } from '@sluice/protocol/request-table';
import { type ColumnType, fittingTypes, isFitting } from './column-types.ts';
import { parseExpression } from './parse-expression.ts';
import {
  type DecodedLayout,
  kindOfSource,
  layoutsOf,
  type ValueReader,
  ValueScope,
} from './read-value.ts';
import { type PlainBlock, type Row, RowBuilder } from './row-builder.ts';
import { type ColumnSpec, invalid, type TableSource, type TableSpec } from './table-spec.ts';

export interface Column {
  readonly name: string;
  /** The expression. */
  readonly value: string;
  readonly type: ColumnType;
  readonly isKey: boolean;
}

/** The identity of a table. If it changes, the rows that are stored already may be wrong. */
export interface TableDefinition {
  readonly source: TableSource;
  readonly items: TableSpec['items'];
  readonly fromBlock: number | null;
  readonly columns: readonly {
    readonly name: string;
    readonly value: string;
    readonly type: string;
  }[];
}

export interface TablePlan {
  /** With its schema. */
  readonly name: string;
  readonly definition: TableDefinition;
  readonly query: Omit<Query, 'fromBlock'>;
  readonly columns: readonly Column[];
  readonly indexes: readonly (readonly string[])[];
  readonly fromBlock: number | undefined;
  /** What reads the value of each column. */
  readonly readers: readonly ValueReader[];
  /** The instructions or events that the rows can be. */
  readonly layouts: readonly DecodedLayout[];
  rowsOf(block: PlainBlock): Row[];
}

/** The columns that identify a row. Every table starts with them, so that a row cannot be stored twice. */
const KEYS: Readonly<Record<TableSource, Readonly<Record<string, string>>>> = {
  blocks: { slot: 'slot' },
  transactions: { slot: 'slot', transaction_index: 'transactionIndex' },
  instructions: {
    slot: 'slot',
    transaction_index: 'transactionIndex',
    instruction_address: 'instructionAddress',
  },
  events: {
    slot: 'slot',
    transaction_index: 'transactionIndex',
    instruction_address: 'instructionAddress',
    event_index: 'eventIndex',
  },
  logs: { slot: 'slot', transaction_index: 'transactionIndex', log_index: 'logIndex' },
  balances: { slot: 'slot', transaction_index: 'transactionIndex', account: 'account' },
  tokenBalances: { slot: 'slot', transaction_index: 'transactionIndex', account: 'account' },
  rewards: { slot: 'slot', reward_index: 'rewardIndex' },
};

/** Positions that are not fields: of an event in its instruction, and of a reward in its block. */
const positions: ReadonlySet<string> = new Set(['eventIndex', 'rewardIndex']);

/** Returns the description of a program, or null if the service has no IDL of it. */
export type FindProgram = (programId: string) => Promise<ProgramInterface | null>;

/** Throws coded errors that name the table and the column. */
export async function planTable(spec: TableSpec, findProgram: FindProgram): Promise<TablePlan> {
  checkItems(spec);
  const layouts = await findLayouts(spec, findProgram);
  const scope = new ValueScope(spec.source, layouts);
  const keys = Object.entries(KEYS[spec.source]).map(([name, value]) => ({ name, value }));
  const specs = spec.columns ?? defaultColumns(spec, layouts);
  const resolved = [...keys, ...specs].map((column, i) =>
    resolveColumn(spec, column, { scope, isKey: i < keys.length }),
  );
  const columns = resolved.map(({ column }) => column);
  checkNames(spec, columns);
  // The position in the ledger's time, for the status.
  scope.fields.add('block.timestamp');
  const { usesTransaction, usesDecimals } = scope;
  const readers = resolved.map(({ reader }) => reader);
  const rows = new RowBuilder({
    source: spec.source,
    eventNames: spec.items.flatMap((item) => listOf(item['name'])),
    readers,
    usesTransaction,
    usesDecimals,
  });
  return {
    name: spec.name.includes('.') ? spec.name : `public.${spec.name}`,
    definition: {
      source: spec.source,
      items: spec.items,
      fromBlock: spec.fromBlock ?? null,
      columns: columns.map(({ name, value, type }) => ({ name, value, type: type.sql })),
    },
    query: buildQuery(spec, scope),
    columns,
    indexes: spec.indexes,
    fromBlock: spec.fromBlock,
    readers,
    layouts,
    rowsOf: (block) => rows.rowsOf(block),
  };
}

/** Refuses relations: a record that is only related would be a row, although no item selects it. */
function checkItems({ name, source, items }: TableSpec): void {
  const array = source === 'events' ? 'instructions' : source;
  const rows = array === 'blocks' ? [] : [...filterRows(array), ...replacedRows(array)];
  const known = rows.map(([filter]) => filter);
  for (const [i, item] of items.entries()) {
    const unknown = Object.keys(item).find((key) => !known.includes(key));
    if (unknown === undefined) continue;
    const expected = known.length === 0 ? 'no filters' : `filters of ${known.join(' ')}`;
    throw invalid(`tables.${name}.${source}[${i}]`, expected, unknown);
  }
}

/** Returns the names of the instructions or events that the items select. Without a named one there is nothing to decode by name. */
async function findLayouts(
  spec: TableSpec,
  findProgram: FindProgram,
): Promise<readonly DecodedLayout[]> {
  const { source, items, name: table } = spec;
  if (source !== 'instructions' && source !== 'events') return [];
  const layouts: DecodedLayout[] = [];
  for (const item of items) {
    const names = listOf(item['name']);
    const programIds = listOf(item['programId']);
    if (source === 'events' && programIds.length === 0)
      throw invalid(`tables.${table}.events`, 'a programId in each item');
    for (const programId of programIds) {
      const program = await findProgram(programId);
      const isNeeded = source === 'events' || names.length > 0;
      if (program === null && isNeeded)
        throw new CodedError('sync-idl-missing', { table, programId });
      if (program === null) continue;
      for (const name of names) requireName(table, name, program[source]);
      layouts.push(...layoutsOf(program, source, names));
    }
  }
  return layouts;
}

function requireName(
  table: string,
  name: string,
  described: readonly { readonly name: string }[],
): void {
  const known = described.map((named) => named.name);
  if (known.includes(name)) return;
  const nearest = findNearestName(name, known);
  throw new CodedError('sync-name-unknown', {
    table,
    name,
    ...(nearest === undefined ? {} : { nearest }),
    known: known.join(' ') || 'none',
  });
}

function listOf(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

function resolveColumn(
  { name: table }: TableSpec,
  { name, value, type }: ColumnSpec,
  { scope, isKey }: { readonly scope: ValueScope; readonly isKey: boolean },
): { readonly column: Column; readonly reader: ValueReader } {
  const position: ValueReader = {
    type: { form: 'number', sql: 'integer' },
    read: ({ record }) => record[value],
  };
  const expression = parseExpression(value);
  const reader =
    isKey && positions.has(value)
      ? position
      : expression === undefined
        ? undefined
        : scope.resolve(expression);
  if (reader === undefined) {
    const known = scope.list();
    const nearest = findNearestName(value, known);
    throw new CodedError('sync-value-unknown', {
      table,
      column: name,
      found: value,
      ...(nearest === undefined ? {} : { nearest }),
      known: [...known, 'shift(VALUE, DIGITS)', 'decimals(MINT)'].join(' '),
    });
  }
  const sql = type?.toLowerCase() ?? reader.type.sql;
  if (type !== undefined && !isFitting(reader.type.form, sql)) {
    const allowed = fittingTypes(reader.type.form).join(', ');
    throw new CodedError('sync-type-unfit', { table, column: name, type, allowed });
  }
  return { column: { name, value, type: { form: reader.type.form, sql }, isKey }, reader };
}

function checkNames({ name: table, indexes }: TableSpec, columns: readonly Column[]): void {
  const names = new Set<string>();
  for (const { name } of columns) {
    if (names.has(name)) {
      const keys = columns.filter(({ isKey }) => isKey).map((key) => key.name);
      const expected = `another name: every table has the columns ${keys.join(', ')}`;
      throw invalid(`tables.${table}.columns.${name}`, expected);
    }
    names.add(name);
  }
  for (const name of indexes.flat()) {
    if (names.has(name)) continue;
    throw invalid(`tables.${table}.indexes`, `columns of ${[...names].join(' ')}`, name);
  }
}

/** Fields that other columns contain. */
const leftOut: ReadonlySet<string> = new Set(['number', 'd1', 'd2', 'd4', 'd8']);

function defaultColumns(
  { source, items }: TableSpec,
  layouts: readonly DecodedLayout[],
): readonly ColumnSpec[] {
  const keys = KEYS[source];
  const hasNames = items.some((item) => item['name'] !== undefined);
  const [layout] = layouts;
  const time = { name: 'block_time', value: 'block.time' };
  const signature = { name: 'signature', value: 'transaction.signature' };
  if (layout !== undefined && (hasNames || source === 'events')) {
    const named =
      layouts.length === 1
        ? namedColumns(layout, source, Object.keys(keys))
        : ['name', 'args'].map((name) => ({ name, value: name }));
    return [time, signature, ...named];
  }
  const kind = kindOfSource(source);
  const extra = { block: ['hash', 'parentHash'], log: ['kind'] } as const;
  const more: readonly string[] = kind === 'block' || kind === 'log' ? extra[kind] : [];
  const names = [...defaultFieldNames(kind, 'ledger'), ...more].filter(
    (name) => !leftOut.has(name) && !Object.values(keys).includes(name),
  );
  const fields = names.map((name) => ({ name: toSnakeCase(name), value: name }));
  const head = source === 'transactions' ? [time, signature] : [time];
  return [...head, ...fields];
}

/** Key words of SQL that cannot be the name of a column without quotes, or that have another meaning without them. */
const keyWords =
  'all analyse analyze and any array as asc authorization between both case cast check collate column constraint create cross current_user default deferrable desc distinct do else end except false fetch for foreign from full grant group having in initially inner intersect into is join lateral leading left like limit localtime natural not null offset on only or order outer overlaps placing primary references returning right select session_user similar some symmetric table then to trailing true union unique user using variadic verbose when where window with'.split(
    ' ',
  );

/** Returns a column for each argument and account. One whose name is taken, or a key word, gets a prefix. */
function namedColumns(
  { args, accounts }: DecodedLayout,
  source: TableSource,
  taken: readonly string[],
): readonly ColumnSpec[] {
  const used = new Set([...taken, 'block_time', 'signature', ...keyWords]);
  const nameOf = (prefix: string, name: string) => {
    const plain = toSnakeCase(name);
    const chosen = used.has(plain) ? `${prefix}_${plain}` : plain;
    used.add(chosen);
    return chosen;
  };
  return [
    ...args.map(({ name }) => ({ name: nameOf('arg', name), value: `args.${name}` })),
    ...(source === 'events' ? [] : accounts).map((name) => ({
      name: nameOf('account', name),
      value: `accounts.${name}`,
    })),
  ];
}

export function toSnakeCase(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/[^A-Za-z0-9]+/g, '_');
  return words.toLowerCase().replace(/^(\d)/, '_$1').slice(0, 63);
}

function buildQuery({ source, items }: TableSpec, scope: ValueScope): Omit<Query, 'fromBlock'> {
  const fields = Object.fromEntries(
    KINDS.map((kind) => {
      const names = [...scope.fields].filter((name) => name.startsWith(`${kind}.`));
      return [kind, Object.fromEntries(names.map((name) => [name.slice(kind.length + 1), true]))];
    }),
  );
  if (scope.usesTransaction)
    fields['transaction'] = { ...fields['transaction'], transactionIndex: true };
  if (source === 'blocks') return { includeAllBlocks: true, fields };
  if (source === 'events') fields['instruction'] = { ...fields['instruction'], decoded: true };
  const array: RecordArray = source === 'events' ? 'instructions' : source;
  const relations = {
    ...(scope.usesTransaction && source !== 'transactions' ? { transaction: true } : {}),
    ...(scope.usesDecimals
      ? { [source === 'transactions' ? 'tokenBalances' : 'transactionTokenBalances']: true }
      : {}),
  };
  const sent = items.map((item) => {
    // The name of an event is compared here, because events are not records of the service.
    const { name, ...rest } = item;
    return { ...(source === 'events' || name === undefined ? rest : item), ...relations };
  });
  return { fields, [array]: sent };
}
