/** The JSON schema of a response line, derived from the field table. */

import Type, { type TObject, type TSchema } from 'typebox';
import type { Dialect } from './dialect.ts';
import {
  type FieldRow,
  fieldNames,
  fieldRows,
  type Kind,
  LOG_KINDS,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type WireType,
} from './field-table.ts';
import { mapKeys } from './typed-keys.ts';

const strict = { additionalProperties: false } as const;

export function buildLineSchema(dialect: Dialect): TObject {
  const arrays = mapKeys(RECORD_ARRAY_NAMES, (array) =>
    Type.Optional(
      Type.Array(buildRecordSchema(RECORD_ARRAYS[array], dialect), {
        minItems: 1,
        description: 'Present if the query selected such records of the block.',
      }),
    ),
  );
  const header = buildRecordSchema('block', dialect);
  return Type.Object(
    { header, ...arrays },
    { ...strict, description: `A block, dialect ${dialect}` },
  );
}

/** Every field except the block number is optional, because the query selects them. */
function buildRecordSchema(kind: Kind, dialect: Dialect): TObject {
  const names = new Set<string>(fieldNames(kind, dialect));
  const fields = fieldRows(kind)
    .filter(([name]) => names.has(name))
    .map(([name, row]): [string, TSchema] => {
      const schema = buildFieldSchema(row, dialect);
      return [name, kind === 'block' && name === 'number' ? schema : Type.Optional(schema)];
    });
  return Type.Object(Object.fromEntries(fields), strict);
}

function buildFieldSchema(row: FieldRow, dialect: Dialect): TSchema {
  const value = WIRE_SCHEMAS[row.wire](dialect);
  const description = row.ext === true ? `${row.text} (ext)` : row.text;
  return row.nullable === true
    ? Type.Union([value, Type.Null()], { description })
    : { ...value, description };
}

const text = () => Type.String();
const integer = () => Type.Integer();
const list = (item: TSchema) => () => Type.Array(item);

const WIRE_SCHEMAS: Readonly<Record<WireType, (dialect: Dialect) => TSchema>> = {
  integer,
  seconds: integer,
  quantity: (dialect) =>
    dialect === 'solana' ? Type.String({ pattern: '^-?[0-9]{1,20}$' }) : Type.Integer(),
  version: (dialect) =>
    dialect === 'solana' ? Type.Union([Type.Integer(), Type.Literal('legacy')]) : Type.Integer(),
  boolean: () => Type.Boolean(),
  text,
  address: text,
  hash: text,
  base58: text,
  hex: () => Type.String({ pattern: '^0x[0-9a-f]*$' }),
  logKind: () => Type.Enum([...LOG_KINDS]),
  addresses: list(Type.String()),
  signatures: list(Type.String()),
  path: list(Type.Integer()),
  errorObject: () => Type.Object({}, { additionalProperties: true }),
  addressTableLookups: list(
    Type.Object(
      {
        accountKey: Type.String(),
        readonlyIndexes: Type.Array(Type.Integer()),
        writableIndexes: Type.Array(Type.Integer()),
      },
      strict,
    ),
  ),
  loadedAddresses: () =>
    Type.Object(
      { readonly: Type.Array(Type.String()), writable: Type.Array(Type.String()) },
      strict,
    ),
  recordCounts: () =>
    Type.Object(
      Object.fromEntries(RECORD_ARRAY_NAMES.map((array) => [array, Type.Integer()])),
      strict,
    ),
  blockRef: () => Type.Object({ number: Type.Integer(), hash: Type.String() }, strict),
  decoded: () => Type.Object({}, { additionalProperties: true }),
};
