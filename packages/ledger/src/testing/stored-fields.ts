/** Stored fields in tests, from the field table, so that a new field needs no change where a test is not about it. */
import { type FieldRow, fieldRows, type Kind, type RecordKind } from '@sluice/protocol/field-table';
import type { StoredRecord, StoredValues } from '../block.ts';

/** The value of a field that a test does not state and that cannot be null. */
const neutralValues: StoredValues = {
  integer: 0,
  quantity: 0n,
  version: -1,
  boolean: false,
  text: '',
  address: '11111111111111111111111111111111' as StoredValues['address'],
  hash: '11111111111111111111111111111111',
  base58: '',
  logKind: 'log',
  addresses: [],
  signatures: [],
  path: [0],
  errorObject: '{}',
  addressTableLookups: [],
  loadedAddresses: { readonly: [], writable: [] },
};

/** Returns a record in which every stored field is null if it may be, and neutral otherwise. */
export function neutralRecord<K extends RecordKind>(kind: K): StoredRecord<K> {
  return mapStored(kind, ({ wire, nullable }) =>
    nullable ? null : neutralValues[wire],
  ) as StoredRecord<K>;
}

type StoredRow = FieldRow & { readonly wire: keyof StoredValues };

/** Returns an object with a value for every stored field of a kind. */
export function mapStored<Value>(
  kind: Kind,
  read: (row: StoredRow) => Value,
): Record<string, Value> {
  const stored = fieldRows(kind).filter(([, row]) => row.derived !== true);
  return Object.fromEntries(stored.map(([name, row]) => [name, read(row as StoredRow)]));
}
