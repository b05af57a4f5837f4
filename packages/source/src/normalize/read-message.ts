import { isBase58 } from '@sluice/base/base58';
import type { AddressTableLookup, LoadedAddresses } from '@sluice/ledger/block';
import type { Address, Signature } from '@sluice/ledger/primitives';
import { isCount } from '../json/read-integer.ts';
import type { BlockReader, Raw } from './block-reader.ts';

export type RawTransaction = Raw<'transaction' | 'meta' | 'version'>;
export type RawMessage = Raw<
  'header' | 'accountKeys' | 'recentBlockhash' | 'instructions' | 'addressTableLookups'
>;
export type RawInstruction = Raw<'programIdIndex' | 'accounts' | 'data' | 'stackHeight'>;

export const voteProgram = 'Vote111111111111111111111111111111111111111';
const legacy = -1;
// One bit of the byte distinguishes versioned messages from legacy ones.
const versionMax = 127;
const noAddresses: readonly Address[] = [];
const noLoadedAddresses: LoadedAddresses = { readonly: noAddresses, writable: noAddresses };
const noLookups: readonly AddressTableLookup[] = [];

/**
 * Returns whether a transaction is a vote: it has one top-level instruction, of the vote program. Invalid transactions are not votes
 * and are rejected when they are read.
 */
export function isVote(entry: unknown): boolean {
  const message = (entry as { transaction?: { message?: RawMessage } } | null)?.transaction
    ?.message;
  const instructions = message?.instructions;
  if (!Array.isArray(instructions) || instructions.length !== 1) return false;
  const index = (instructions[0] as RawInstruction | null)?.programIdIndex;
  const keys = message?.accountKeys;
  if (typeof index !== 'number' || !Array.isArray(keys)) return false;
  if (index < keys.length) return keys[index] === voteProgram;
  const meta = (entry as { meta?: Raw<'loadedAddresses'> | null }).meta;
  const loaded = meta?.loadedAddresses as Raw<'writable' | 'readonly'> | null | undefined;
  const lists = [loaded?.writable, loaded?.readonly].filter((list) => Array.isArray(list));
  return lists.flat()[index - keys.length] === voteProgram;
}

export function readVersion(reader: BlockReader, version: unknown, hasLookups: boolean): number {
  if (version === undefined || version === null) return hasLookups ? 0 : legacy;
  if (version === 'legacy') return legacy;
  return reader.count(version, versionMax, 'version');
}

export function readSignatures(reader: BlockReader, value: unknown): readonly Signature[] {
  return reader.signatures(value, 'transaction.signatures');
}

export function readLookups(reader: BlockReader, value: unknown): readonly AddressTableLookup[] {
  const list = reader.optionalArray(value, 'message.addressTableLookups');
  if (list.length === 0) return noLookups;
  return list.map((entry, i) => {
    const raw = reader.object<'accountKey' | 'readonlyIndexes' | 'writableIndexes'>(
      entry,
      'message.addressTableLookups',
      i,
    );
    return {
      accountKey: reader.address(raw.accountKey, 'message.addressTableLookups.accountKey'),
      readonlyIndexes: reader.u8s(
        raw.readonlyIndexes,
        'message.addressTableLookups.readonlyIndexes',
      ),
      writableIndexes: reader.u8s(
        raw.writableIndexes,
        'message.addressTableLookups.writableIndexes',
      ),
    };
  });
}

export function readLoadedAddresses(
  reader: BlockReader,
  value: unknown,
  lookups: readonly AddressTableLookup[],
): LoadedAddresses {
  let loaded = noLoadedAddresses;
  if (value !== undefined && value !== null) {
    const raw = reader.object<'readonly' | 'writable'>(value, 'meta.loadedAddresses');
    loaded = {
      readonly: readOptionalAddresses(reader, raw.readonly, 'meta.loadedAddresses.readonly'),
      writable: readOptionalAddresses(reader, raw.writable, 'meta.loadedAddresses.writable'),
    };
  }
  if (loaded.readonly.length + loaded.writable.length === 0 && lookups.some(hasIndexes)) {
    reader.missing('meta.loadedAddresses', 'the addresses that the lookups name');
  }
  return loaded;
}

function hasIndexes(lookup: AddressTableLookup): boolean {
  return lookup.readonlyIndexes.length + lookup.writableIndexes.length > 0;
}

function readOptionalAddresses(
  reader: BlockReader,
  value: unknown,
  field: string,
): readonly Address[] {
  if (value === undefined || value === null) return noAddresses;
  return reader.addresses(value, field);
}

/** Returns the list to which all indexes of a transaction refer. */
export function keyListOf(
  accountKeys: readonly Address[],
  loaded: LoadedAddresses,
): readonly Address[] {
  if (loaded.writable.length + loaded.readonly.length === 0) return accountKeys;
  return accountKeys.concat(loaded.writable, loaded.readonly);
}

export function readProgram(
  reader: BlockReader,
  index: unknown,
  keys: readonly Address[],
): Address {
  const key = typeof index === 'number' && isCount(index) ? keys[index] : undefined;
  return key ?? reader.refuse('instruction.programIdIndex', index, keyExpected(keys));
}

export function readAccounts(
  reader: BlockReader,
  value: unknown,
  keys: readonly Address[],
): readonly Address[] {
  const indexes = reader.array(value, 'instruction.accounts');
  const accounts = new Array<Address>(indexes.length);
  for (let i = 0; i < indexes.length; i++) {
    const index = indexes[i];
    const key = typeof index === 'number' && isCount(index) ? keys[index] : undefined;
    accounts[i] = key ?? reader.refuse('instruction.accounts', index, keyExpected(keys), i);
  }
  return accounts;
}

function keyExpected(keys: readonly Address[]): string {
  return `the index of one of the ${keys.length} keys`;
}

export function readData(reader: BlockReader, value: unknown): string {
  if (typeof value === 'string' && isBase58(value)) return value;
  return reader.refuse('instruction.data', value, 'base58');
}
