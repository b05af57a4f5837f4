/** Converts records of one kind into rows for tables and CSV files. */

import {
  defaultFieldNames,
  fieldNames,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type RecordArray,
} from '@sluice/protocol/field-table';
import type { QueryBody } from '@sluice/protocol/query-body';
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

/** Returns the first kind that a query selects, or headers if it selects no records. */
export function chooseKind(query: QueryBody): RowKind {
  const order: readonly RecordArray[] = ['instructions', ...RECORD_ARRAY_NAMES];
  return order.find((array) => (query[array]?.length ?? 0) > 0) ?? 'blocks';
}

/** Each row begins with its slot. A record of a transaction also has the signature if the query selects it. */
export function createRowSource(query: QueryBody, kind: RowKind): RowSource {
  if (kind === 'blocks') {
    const names = selectedNames(query, 'block').filter((name) => name !== 'number');
    return {
      columns: ['slot', ...names],
      rows: ({ header }) => [[String(header.number), ...names.map((name) => cell(header[name]))]],
    };
  }
  const names = selectedNames(query, RECORD_ARRAYS[kind]);
  const hasSignature =
    kind !== 'transactions' && selectedNames(query, 'transaction').includes('signatures');
  return {
    columns: ['slot', ...names, ...(hasSignature ? ['signature'] : [])],
    rows: (block) =>
      (block[kind] ?? []).map((record) => [
        String(block.header.number),
        ...names.map((name) => cell(record[name])),
        ...(hasSignature ? [signatureOf(block, record['transactionIndex'])] : []),
      ]),
  };
}

function selectedNames(
  { fields, type = 'ledger' }: QueryBody,
  kind: 'block' | (typeof RECORD_ARRAYS)[RecordArray],
): readonly string[] {
  if (fields === undefined) return defaultFieldNames(kind, type);
  const selected: Readonly<Record<string, boolean | undefined>> = fields[kind] ?? {};
  return fieldNames(kind, type).filter((name) => selected[name] === true);
}

function signatureOf({ transactions = [] }: ReadBlock, index: unknown): string {
  const transaction = transactions.find(({ transactionIndex }) => transactionIndex === index);
  return cell(memberOf(transaction?.['signatures'], '0'));
}

/** Writes a position in a call tree with dots, a list of addresses with spaces, and an unknown value as an empty text. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return typeof value === 'object' ? toExactJson(value) : String(value);
  if (value.every((part) => typeof part === 'number')) return value.join('.');
  return value.every((part) => typeof part === 'string') ? value.join(' ') : toExactJson(value);
}
