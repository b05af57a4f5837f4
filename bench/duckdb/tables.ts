/**
 * DuckDB's tables, as an analyst would define them: one table per kind, natural types, the wire's names, rows in chain
 * order. Derived values that queries use often (feePayer, d1 to d8) are columns.
 */
import { assert } from '@sluice/base/assert';
import { type FieldRow, fieldRows, type Kind, type WireType } from '@sluice/protocol/field-table';
import { entriesOf } from '@sluice/protocol/typed-keys';

/** The kind of the rows of each table. */
export const TABLES = {
  blocks: 'block',
  transactions: 'transaction',
  instructions: 'instruction',
  logs: 'log',
  balances: 'balance',
  tokenBalances: 'tokenBalance',
  rewards: 'reward',
} as const satisfies Record<string, Kind>;

export type TableName = keyof typeof TABLES;
export const TABLE_NAMES = entriesOf(TABLES).map(([name]) => name);

const duckdbTypes = {
  integer: 'UBIGINT',
  seconds: 'BIGINT',
  quantity: 'UBIGINT',
  version: 'TINYINT',
  boolean: 'BOOLEAN',
  text: 'VARCHAR',
  address: 'VARCHAR',
  hash: 'VARCHAR',
  base58: 'VARCHAR',
  hex: 'VARCHAR',
  logKind: 'VARCHAR',
  addresses: 'VARCHAR[]',
  signatures: 'VARCHAR[]',
  path: 'UINTEGER[]',
  errorObject: 'VARCHAR',
  addressTableLookups:
    'STRUCT(accountKey VARCHAR, readonlyIndexes UTINYINT[], writableIndexes UTINYINT[])[]',
  loadedAddresses: 'STRUCT("readonly" VARCHAR[], writable VARCHAR[])',
} as const satisfies Partial<Record<WireType, string>>;

/** Columns whose values fit a smaller type than the type of the field allows. */
const smallerTypes: Readonly<Record<string, string>> = {
  'transaction.numReadonlySignedAccounts': 'UTINYINT',
  'transaction.numReadonlyUnsignedAccounts': 'UTINYINT',
  'transaction.numRequiredSignatures': 'UTINYINT',
  'tokenBalance.preDecimals': 'UTINYINT',
  'tokenBalance.postDecimals': 'UTINYINT',
  'reward.commission': 'UTINYINT',
  // The amount of a reward may be negative.
  'reward.lamports': 'BIGINT',
};

const derivedColumns = new Set(['feePayer', 'd1', 'd2', 'd4', 'd8']);

/** Returns the statements that create all tables. */
export function createTables(): string {
  return TABLE_NAMES.map((table) => {
    const kind = TABLES[table];
    const columns = fieldRows(kind)
      .filter(([name, row]) => row.derived !== true || derivedColumns.has(name))
      .map(([name, row]) => `"${name}" ${columnType(kind, name, row)}`);
    if (kind !== 'block') columns.unshift('block UBIGINT');
    return `CREATE TABLE ${table} (${columns.join(', ')});`;
  }).join('\n');
}

function columnType(kind: Kind, name: string, { wire }: FieldRow): string {
  if (name === 'transactionIndex' || name === 'logIndex') return 'UINTEGER';
  const type =
    smallerTypes[`${kind}.${name}`] ?? (duckdbTypes as Partial<Record<WireType, string>>)[wire];
  assert(type !== undefined, `DuckDB has a type for ${kind}.${name}`);
  return type;
}
