/** Writes records as JSON text: a stored field by its type in the table of fields, a derived one by a function. */

import type {
  Balance,
  Block,
  Instruction,
  Log,
  Reward,
  TokenBalance,
  Transaction,
} from '@sluice/ledger/block';
import type { Dialect } from '@sluice/protocol/dialect';
import {
  type FieldName,
  type FieldRow,
  fieldRows,
  type Kind,
  RECORD_ARRAY_NAMES,
} from '@sluice/protocol/field-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import { memberOf } from '@sluice/protocol/unknown-value';
import { parentHashOnWire } from '../../header-texts.ts';
import { dataToHex } from './match-record.ts';
import { type WriteContext, writeDecodedInstruction, writeDecodedLog } from './write-decoded.ts';

/** For each kind, the record from which its fields are written. */
interface Sources {
  block: Block;
  transaction: Transaction;
  instruction: Instruction;
  log: Log;
  balance: Balance;
  tokenBalance: TokenBalance;
  reward: Reward;
}

type Write<K extends Kind> = (source: Sources[K], context: WriteContext) => string;

/** Returns the JSON object of one record or header with the requested fields. */
export function writeRecord<K extends Kind>(
  kind: K,
  source: Sources[K],
  options: WriteContext & { readonly fields: readonly FieldName<K>[] },
): string {
  const rows = new Map<string, FieldRow>(fieldRows(kind));
  const derived: Readonly<Partial<Record<string, Write<K>>>> = DERIVED[kind];
  const members = options.fields.map((name) => {
    const write = derived[name];
    const value =
      write === undefined
        ? writeStored(rows.get(name), memberOf(source, name), options.dialect)
        : write(source, options);
    return `"${name}":${value}`;
  });
  return `{${members.join()}}`;
}

/** Writes a value of a record by the type that the field has on the wire. */
function writeStored(row: FieldRow | undefined, value: unknown, dialect: Dialect): string {
  if (value === null) return 'null';
  switch (row?.wire) {
    case 'quantity':
      // 64 bits with every digit: an integer in `ledger`, text in `solana`.
      return dialect === 'solana' ? `"${value}"` : `${value}`;
    case 'version':
      return dialect === 'solana' && value === -1 ? '"legacy"' : `${value}`;
    case 'errorObject':
      return `${value}`;
    case 'addressTableLookups':
      return JSON.stringify(value, ['accountKey', 'readonlyIndexes', 'writableIndexes']);
    case 'loadedAddresses':
      return JSON.stringify(value, ['readonly', 'writable']);
    default:
      return JSON.stringify(value);
  }
}

/** Returns `0x` and the first bytes of the data, or null if the data is shorter. */
const dataStart = (byteCount: number): Write<'instruction'> => {
  const length = 2 + 2 * byteCount;
  return ({ data }) => {
    const hex = dataToHex(data);
    return hex.length < length ? 'null' : `"${hex.slice(0, length)}"`;
  };
};

/** The fields of the header, and the fields of records that derive from others. */
const DERIVED: {
  readonly [K in Kind]: { readonly [Name in Exclude<FieldName<K>, keyof Sources[K]>]: Write<K> };
} = {
  block: {
    number: ({ header }) => JSON.stringify(header.number),
    hash: ({ header }) => JSON.stringify(header.hash),
    parentSlot: ({ header }) => JSON.stringify(header.parentSlot),
    parentNumber: ({ header }) => JSON.stringify(header.parentSlot),
    parentHash: ({ header }) => JSON.stringify(parentHashOnWire(header)),
    height: ({ header }) => JSON.stringify(header.height),
    timestamp: ({ header }) => `${header.timestamp}`,
    recordCounts: (block) =>
      JSON.stringify(mapKeys(RECORD_ARRAY_NAMES, (array) => block[array].length)),
    finalizedHead: () => 'null',
  },
  transaction: { feePayer: (record) => JSON.stringify(record.accountKeys[0] ?? null) },
  instruction: {
    d1: dataStart(1),
    d2: dataStart(2),
    d4: dataStart(4),
    d8: dataStart(8),
    decoded: writeDecodedInstruction,
  },
  log: { decoded: writeDecodedLog },
  balance: {},
  tokenBalance: {},
  reward: { pubkey: (record) => JSON.stringify(record.pubKey) },
};
