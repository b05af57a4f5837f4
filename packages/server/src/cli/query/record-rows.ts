/** Converts records of one kind into rows for tables and CSV files. */

import {
  defaultFieldNames,
  fieldNames,
  type Kind,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type RecordArray,
} from '@sluice/protocol/field-table';
import type { QueryBody } from '@sluice/protocol/query-body';
import { relationRows } from '@sluice/protocol/request-table';
import { memberOf } from '@sluice/protocol/unknown-value';
import type { ReadBlock } from './block-writer.ts';
import { toExactJson } from './exact-json.ts';

/** `blocks` shows the headers. */
export type RowKind = RecordArray | 'blocks';

export const ROW_KINDS: readonly RowKind[] = ['blocks', ...RECORD_ARRAY_NAMES];

export interface RowSource {
  readonly columns: readonly string[];
  rows(block: ReadBlock): readonly (readonly string[])[];
}

/** The part of a query that determines its rows. */
export type Selection = Omit<QueryBody, 'fromBlock'>;

/** Returns the first kind that a query selects and whose fields it reads, or headers if it selects no records. */
export function chooseKind(query: Selection): RowKind {
  const order: readonly RecordArray[] = ['instructions', ...RECORD_ARRAY_NAMES];
  const arrays = order.filter((array) => (query[array]?.length ?? 0) > 0);
  const isRead = (array: RecordArray) => selectedNames(query, RECORD_ARRAYS[array]).length > 0;
  return arrays.find(isRead) ?? arrays[0] ?? 'blocks';
}

type Parent = 'transaction' | 'instruction';

/** The kinds of records to which a record of a kind belongs. A row has at most one record of each, so their fields can be columns of it. */
const parents: Readonly<Record<RowKind, readonly Parent[]>> = {
  blocks: [],
  transactions: [],
  instructions: ['transaction'],
  logs: ['transaction', 'instruction'],
  balances: ['transaction'],
  tokenBalances: ['transaction'],
  rewards: [],
};

/** The fields by which a record refers to its parent. */
const keyNames: Readonly<Record<Parent, readonly string[]>> = {
  transaction: ['transactionIndex'],
  instruction: ['transactionIndex', 'instructionAddress'],
};
const parentArrays = { transaction: 'transactions', instruction: 'instructions' } as const;

/** Returns the kinds whose fields can be columns of a row. */
export function columnKinds(kind: RowKind): readonly Kind[] {
  return ['block', ...(kind === 'blocks' ? [] : [RECORD_ARRAYS[kind]]), ...parents[kind]];
}

/** Returns the query with everything that the columns need: the parents of the records, and the fields that refer to them. */
export function addParents<Q extends Selection>(query: Q, kind: RowKind): Q {
  const needed = parents[kind].filter((parent) => selectedNames(query, parent).length > 0);
  if (kind === 'blocks' || needed.length === 0) return query;
  const fields: Partial<Record<Kind, object>> = { ...query.fields };
  for (const parent of needed) {
    const keys = Object.fromEntries(keyNames[parent].map((name) => [name, true]));
    for (const recordKind of [parent, RECORD_ARRAYS[kind]])
      fields[recordKind] = { ...fields[recordKind], ...keys };
  }
  const items = RECORD_ARRAY_NAMES.filter((array) => query[array] !== undefined).map((array) => {
    const added = needed.flatMap((parent) => relationsTo(parent, array));
    const flags = Object.fromEntries(added.map((name) => [name, true]));
    return [array, query[array]?.map((item) => ({ ...item, ...flags }))];
  });
  return { ...query, ...Object.fromEntries(items), fields };
}

function relationsTo(parent: Parent, array: RecordArray): readonly string[] {
  const wanted = parentArrays[parent];
  if (array === wanted) return [];
  return relationRows(array).flatMap(([name, { brings }]) => (brings === wanted ? [name] : []));
}

interface Column {
  readonly name: string;
  readonly field: string;
  /** The record that has the field: the header, the record of the row, or its parent. */
  readonly of: 'header' | 'record' | Parent;
}

/** Each row begins with its slot. Fields of a parent have its name, such as `transaction.fee`; `signature` is the first of its signatures. */
export function createRowSource(query: Selection, kind: RowKind): RowSource {
  const columns = columnsOf(query, kind);
  const joined = parents[kind].filter((parent) => columns.some(({ of }) => of === parent));
  return {
    columns: columns.map(({ name }) => name),
    rows: (block) => {
      const finders = joined.map((parent) => [parent, buildFinder(block, parent)] as const);
      const records = kind === 'blocks' ? [block.header] : (block[kind] ?? []);
      return records.map((record) => {
        const parentRecords = finders.map(([parent, find]) => [parent, find(record)]);
        const sources = { header: block.header, record, ...Object.fromEntries(parentRecords) };
        return columns.map(({ name, of, field }) => {
          const value: unknown = memberOf(sources[of], field);
          return cell(name === 'signature' ? memberOf(value, '0') : value);
        });
      });
    },
  };
}

function columnsOf(query: Selection, kind: RowKind): readonly Column[] {
  const names = selectedNames(query, 'block').filter((name) => name !== 'number');
  const recordFields = kind === 'blocks' ? [] : selectedNames(query, RECORD_ARRAYS[kind]);
  const ofParents = parents[kind].flatMap((of) =>
    selectedNames(query, of)
      .filter((field) => !keyNames[of].includes(field) || !recordFields.includes(field))
      .map((field) => ({ name: nameColumn(of, field), field, of })),
  );
  return [
    { name: 'slot', field: 'number', of: 'header' },
    ...names.map((field): Column => ({ name: field, field, of: 'header' })),
    ...recordFields.map((field): Column => ({ name: field, field, of: 'record' })),
    ...ofParents,
  ];
}

function nameColumn(parent: Parent, field: string): string {
  return field === 'signatures' ? 'signature' : `${parent}.${field}`;
}

type WireRecord = Readonly<Record<string, unknown>>;

/** Returns a function that finds the parent of a record. */
function buildFinder(
  block: ReadBlock,
  parent: Parent,
): (record: WireRecord) => WireRecord | undefined {
  const keyOf = (record: WireRecord) => keyNames[parent].map((name) => record[name]).join(' ');
  const records = new Map(
    (block[parentArrays[parent]] ?? []).map((record) => [keyOf(record), record]),
  );
  return (record) => records.get(keyOf(record));
}

function selectedNames({ fields, type = 'ledger' }: Selection, kind: Kind): readonly string[] {
  if (fields === undefined) return defaultFieldNames(kind, type);
  const selected: Readonly<Record<string, boolean | undefined>> = fields[kind] ?? {};
  return fieldNames(kind, type).filter((name) => selected[name] === true);
}

/** Writes a position in a call tree with dots, a list of addresses with spaces, and an unknown value as an empty text. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return typeof value === 'object' ? toExactJson(value) : String(value);
  if (value.every((part) => typeof part === 'number')) return value.join('.');
  return value.every((part) => typeof part === 'string') ? value.join(' ') : toExactJson(value);
}
