/** Renders the tables as Markdown for the documentation. */
import {
  defaultFieldNames,
  type FieldRow,
  fieldRows,
  KINDS,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type WireType,
} from './field-table.ts';
import { QUERY_LIMITS, type QueryLimits } from './query-limits.ts';
import { describeValues, filterRows, relationRows, replacedRows } from './request-table.ts';

/** Returns one section per kind with its fields in wire order. */
export function renderFieldTables(): string {
  return KINDS.map((kind) => {
    const sentByDefault = new Set<string>(defaultFieldNames(kind, 'ledger'));
    const rows = fieldRows(kind).map(([name, row]) => [
      `\`${name}\`${row.ext === true ? ' (ext)' : ''}`,
      describeType(row),
      sentByDefault.has(name) ? 'yes' : 'no',
      row.text,
    ]);
    const table = renderTable(['Field', 'Type', 'Sent without `fields`', 'Meaning'], rows);
    return `### \`${kind}\`\n\n${table}`;
  }).join('\n');
}

/** Returns one section per array of a query: the filters of an item, then its flags. */
export function renderItemTables(): string {
  return RECORD_ARRAY_NAMES.map((array) => {
    const filters = renderTable(
      ['Filter', 'Values', 'Compared with'],
      [...filterRows(array), ...replacedRows(array)].map(([name, row]) => [
        markExt(name, row),
        describeValues(row),
        row.text,
      ]),
    );
    const relations = relationRows(array).map(([name, row]) => [
      markExt(name, row),
      `\`${row.brings}\``,
      row.text,
    ]);
    const flags = renderTable(['Flag', 'Adds to', 'What'], relations);
    const title = `### \`${array}\`: items that select records of kind \`${RECORD_ARRAYS[array]}\``;
    return relations.length === 0 ? `${title}\n\n${filters}` : `${title}\n\n${filters}\n${flags}`;
  }).join('\n');
}

export function renderLimits(limits: QueryLimits = QUERY_LIMITS): string {
  const count = (value: number) => value.toLocaleString('en-US');
  return renderTable(
    ['Limit', 'Default'],
    [
      ['Bytes of a body, on the wire and decoded', count(limits.bodyBytesMax)],
      ['Nesting of objects and arrays', count(limits.depthMax)],
      ['Items, all arrays together', count(limits.itemCountMax)],
      ['Values in one list', count(limits.listValueCountMax)],
      ['Values, all lists together', count(limits.valueCountMax)],
    ],
  );
}

function markExt(name: string, row: { readonly ext?: true }): string {
  return row.ext === true ? `\`${name}\` (ext)` : `\`${name}\``;
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}

const TYPES: Readonly<Record<WireType, string>> = {
  integer: 'integer',
  seconds: 'integer, 64 bits',
  quantity: 'integer, 64 bits; text in `solana`',
  version: 'integer; `"legacy"` or an integer in `solana`',
  boolean: 'boolean',
  text: 'string',
  address: 'string, base58',
  hash: 'string, base58',
  base58: 'string, base58',
  hex: 'string, `0x` and hex',
  logKind: 'string',
  addresses: 'array of base58 strings',
  signatures: 'array of base58 strings',
  path: 'array of integers',
  errorObject: 'object',
  addressTableLookups: 'array of `{accountKey, readonlyIndexes, writableIndexes}`',
  loadedAddresses: '`{readonly, writable}`, arrays of base58 strings',
  blockRef: '`{number, hash}`',
  decoded: 'object, see [decoding.md](decoding.md)',
  recordCounts: `object: ${RECORD_ARRAY_NAMES.map((array) => `\`${array}\``).join(', ')}`,
};

function describeType(row: FieldRow): string {
  const only = row.dialects === undefined ? '' : `; only in \`${row.dialects.join()}\``;
  return `${TYPES[row.wire]}${row.nullable === true ? ', or `null`' : ''}${only}`;
}
