/**
 * The JSON schema of a request body, derived from the tables. Rules that a schema cannot express (an address has 32
 * bytes, `toBlock` is not below `fromBlock`, the limits over all lists) are checked by the query parser. The parser
 * accepts nothing that the schema rejects.
 */

import Type, { type TObject, type TSchema } from 'typebox';
import { DIALECT_DEFAULT, type Dialect } from './dialect.ts';
import {
  fieldRows,
  KINDS,
  type Kind,
  LOG_KINDS,
  RECORD_ARRAY_NAMES,
  type RecordArray,
} from './field-table.ts';
import { listValueCountMaxOf, type QueryLimits } from './query-limits.ts';
import { type FilterRow, filterRows, relationRows, replacedRows } from './request-table.ts';
import { mapKeys } from './typed-keys.ts';

/** Base58 of 32 bytes has 32 to 44 characters. Only decoding shows the exact number of bytes. */
export const ADDRESS_PATTERN = '^[1-9A-HJ-NP-Za-km-z]{32,44}$';

const strict = { additionalProperties: false } as const;

export function buildQuerySchema(dialects: readonly Dialect[], limits: QueryLimits): TObject {
  const blockNumber = {
    minimum: 0,
    description: 'A slot. A number above 2^53 is above every head.',
  };
  const listMax = Math.max(...dialects.map((dialect) => listValueCountMaxOf(dialect, limits)));
  const arrays = mapKeys(RECORD_ARRAY_NAMES, (array) =>
    Type.Optional(Type.Array(buildItemSchema(array, listMax), { maxItems: limits.itemCountMax })),
  );
  const fromBlock = Type.Integer({ ...blockNumber, title: 'First slot of the range.' });
  return Type.Object(
    {
      type: buildTypeSchema(dialects),
      fromBlock: dialects.includes('solana') ? Type.Optional(fromBlock) : fromBlock,
      toBlock: Type.Optional(
        orNull(Type.Integer({ ...blockNumber, title: 'Last slot of the range, inclusive.' })),
      ),
      parentBlockHash: Type.Optional(
        orNull(Type.String({ description: 'Expected hash of the block before the first one.' })),
      ),
      includeAllBlocks: Type.Optional(
        Type.Boolean({ default: false, description: 'Send blocks without selected records too.' }),
      ),
      fields: Type.Optional(buildFieldsSchema(dialects)),
      ...arrays,
    },
    { ...strict, description: 'A query' },
  );
}

/** `type` is required if the default dialect is not allowed. */
function buildTypeSchema(dialects: readonly Dialect[]): TSchema {
  const values = [...dialects];
  return dialects.includes(DIALECT_DEFAULT)
    ? Type.Optional(Type.Enum(values, { default: DIALECT_DEFAULT }))
    : Type.Enum(values);
}

function buildFieldsSchema(dialects: readonly Dialect[]): TObject {
  const selectors = mapKeys(KINDS, (kind) => Type.Optional(buildSelectorSchema(kind, dialects)));
  return Type.Object(selectors, {
    ...strict,
    description: 'Which fields to send, for each kind of record.',
  });
}

function buildSelectorSchema(kind: Kind, dialects: readonly Dialect[]): TObject {
  const fields = fieldRows(kind)
    .filter(
      ([, row]) => row.dialects === undefined || row.dialects.some((d) => dialects.includes(d)),
    )
    .map(([name, row]): [string, TSchema] => [
      name,
      Type.Optional(Type.Boolean({ description: row.text })),
    ]);
  return Type.Object(Object.fromEntries(fields), strict);
}

function buildItemSchema(array: RecordArray, listMax: number): TObject {
  const rows = [...filterRows(array), ...replacedRows(array)];
  const filters = rows.map(([name, row]): [string, TSchema] => [
    name,
    Type.Optional(buildFilterSchema(row, listMax)),
  ]);
  const relations = relationRows(array).map(([name, row]): [string, TSchema] => [
    name,
    Type.Optional(Type.Boolean({ default: false, description: `Includes: ${row.text}` })),
  ]);
  return Type.Object(Object.fromEntries([...filters, ...relations]), strict);
}

function buildFilterSchema(row: FilterRow, listMax: number): TSchema {
  const description = row.text;
  if (row.value === 'boolean') return orNull(Type.Boolean(), description);
  const value = buildValueSchema(row);
  const list = Type.Array(value, { maxItems: listMax });
  return Type.Union([value, list, Type.Null()], { description });
}

function buildValueSchema(row: Exclude<FilterRow, { value: 'boolean' }>): TSchema {
  switch (row.value) {
    case 'discriminator':
      return Type.String({ pattern: `^0x[0-9a-fA-F]{${2 * row.bytes}}$` });
    case 'prefix':
      return Type.String({ pattern: `^0x([0-9a-fA-F]{2}){0,${row.bytes}}$` });
    case 'logKind':
      return Type.Enum([...LOG_KINDS]);
    case 'name':
      return Type.String();
    default:
      return Type.Union([Type.String({ pattern: ADDRESS_PATTERN }), SET]);
  }
}

const SET = Type.Object(
  {
    set: Type.String({ pattern: '^[\\w-]{1,64}$' }),
    version: Type.Optional(Type.String({ description: 'Default: the current version.' })),
  },
  { ...strict, description: 'All addresses of a set that the service stores under this name.' },
);

function orNull(schema: TSchema, description?: string): TSchema {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}
