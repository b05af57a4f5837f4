/** Encodes rows as a Parquet file. The same rows give the same bytes. */
import { decodeBase58 } from '@sluice/base/base58';
import { type ParquetWriteOptions, parquetWriteBuffer } from 'hyparquet-writer';
import { type ColumnType, toJson } from '../column-types.ts';
import type { Row } from '../row-builder.ts';
import type { Column } from '../table-plan.ts';

type Element = NonNullable<ParquetWriteOptions['schema']>[number];

interface FileType {
  readonly element: Omit<Element, 'name' | 'repetition_type'>;
  readonly convert: (value: unknown) => unknown;
  /** The elements of a list. */
  readonly item?: Omit<Element, 'name' | 'repetition_type'>;
}

const rowGroupSize = 1 << 16;
const utf8 = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const text: FileType = { element: utf8, convert: String };
const json: FileType = { element: { type: 'BYTE_ARRAY', converted_type: 'JSON' }, convert: toJson };

/** 64-bit quantities are decimals, because some have no sign and some have. Larger numbers and fractions keep every digit as text. */
const FILE_TYPES: Readonly<Record<string, FileType>> = {
  smallint: { element: { type: 'INT32' }, convert: Number },
  integer: { element: { type: 'INT32' }, convert: Number },
  bigint: { element: { type: 'INT64' }, convert: (value) => BigInt(String(value)) },
  'numeric(20)': {
    element: {
      ...{ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL' },
      ...{ precision: 20, scale: 0 },
    },
    convert: (value) => BigInt(String(value)),
  },
  'double precision': { element: { type: 'DOUBLE' }, convert: Number },
  boolean: { element: { type: 'BOOLEAN' }, convert: (value) => value === true },
  timestamptz: {
    element: {
      ...{ type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    convert: (value) => new Date(Number(value) * 1000),
  },
  jsonb: json,
  'text[]': {
    element: { converted_type: 'LIST', num_children: 1 },
    convert: (value) => value,
    item: utf8,
  },
  'integer[]': {
    element: { converted_type: 'LIST', num_children: 1 },
    convert: (value) => value,
    item: { type: 'INT32' },
  },
};

export function fileType({ form, sql }: ColumnType): FileType {
  if (sql === 'bytea') {
    const convert = (value: unknown) =>
      form === 'hex' ? Buffer.from(String(value).slice(2), 'hex') : decodeBase58(String(value));
    return { element: { type: 'BYTE_ARRAY' }, convert };
  }
  if (sql === 'text' && form === 'json') return { ...text, convert: toJson };
  if (sql === 'text' && form === 'integers')
    return { ...text, convert: (value) => String(value).replaceAll(',', '.') };
  return FILE_TYPES[sql] ?? text;
}

export function encodeRows(columns: readonly Column[], rows: readonly Row[]): Uint8Array {
  const types = columns.map(({ type }) => fileType(type));
  const schema = columns.flatMap(({ name, isKey }, i): Element[] => {
    const { element, item } = types[i] ?? text;
    const column = { ...element, name, repetition_type: isKey ? 'REQUIRED' : 'OPTIONAL' } as const;
    if (item === undefined) return [column];
    return [
      column,
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      { ...item, name: 'element', repetition_type: 'REQUIRED' },
    ];
  });
  const columnData = columns.map(({ name }, i) => {
    const { convert } = types[i] ?? text;
    const data = rows.map((row) => {
      const value = row[i];
      return value === null || value === undefined ? null : convert(value);
    });
    return { name, data };
  });
  const root = { name: 'root', num_children: columns.length };
  return new Uint8Array(
    parquetWriteBuffer({
      schema: [root, ...schema],
      columnData,
      rowGroupSize,
      createdBy: 'sluice',
    }),
  );
}
