/**
 * The reference for filters: the values of a record that each filter is compared with. A filter matches if its list has one of
 * them, so a record that lacks the filtered value never matches.
 */
import { base58 } from '@scure/base';
import type { Block, Instruction, TokenBalance, Transaction } from '@sluice/ledger/block';
import type { RecordArray } from '@sluice/protocol/field-table';
import type { FilterName } from '@sluice/protocol/request-table';
import type { AddressSet } from '../../../query/address-set.ts';
import type { Item } from '../../../query/query.ts';

type Value = string | boolean;
type RecordOf<A extends RecordArray> = Block[A][number];
type Values<A extends RecordArray> = (record: RecordOf<A>) => readonly (Value | null | undefined)[];

const account =
  (position: number): Values<'instructions'> =>
  ({ accounts }) => [accounts[position]];

const dataStart =
  (byteCount: number): Values<'instructions'> =>
  (record) =>
    dataStarts(record).filter((start) => start.length === 2 + 2 * byteCount);

const sides =
  (name: 'Mint' | 'Owner'): Values<'tokenBalances'> =>
  (record: TokenBalance) => [record[`pre${name}`], record[`post${name}`]];

const FILTERED_VALUES: {
  readonly [A in RecordArray]: { readonly [Name in FilterName<A>]: Values<A> };
} = {
  transactions: {
    feePayer: ({ accountKeys }) => [accountKeys[0]],
    mentionsAccount: ({ accountKeys, loadedAddresses }) => [
      ...accountKeys,
      ...loadedAddresses.writable,
      ...loadedAddresses.readonly,
    ],
    isCommitted: (record) => [isCommitted(record)],
  },
  instructions: {
    programId: ({ programId }) => [programId],
    ...{ d1: dataStart(1), d2: dataStart(2), d3: dataStart(3), d4: dataStart(4) },
    ...{ d5: dataStart(5), d6: dataStart(6), d7: dataStart(7), d8: dataStart(8) },
    discriminator: dataStarts,
    ...{ a0: account(0), a1: account(1), a2: account(2), a3: account(3), a4: account(4) },
    ...{ a5: account(5), a6: account(6), a7: account(7), a8: account(8), a9: account(9) },
    ...{ a10: account(10), a11: account(11), a12: account(12), a13: account(13) },
    ...{ a14: account(14), a15: account(15) },
    mentionsAccount: ({ accounts }) => accounts,
    isCommitted: (record) => [record.isCommitted],
  },
  logs: {
    programId: ({ programId }) => [programId],
    kind: ({ kind }) => [kind],
  },
  balances: { account: (record) => [record.account] },
  tokenBalances: {
    account: (record) => [record.account],
    preProgramId: ({ preProgramId }) => [preProgramId],
    postProgramId: ({ postProgramId }) => [postProgramId],
    preMint: ({ preMint }) => [preMint],
    postMint: ({ postMint }) => [postMint],
    preOwner: ({ preOwner }) => [preOwner],
    postOwner: ({ postOwner }) => [postOwner],
    mint: sides('Mint'),
    owner: sides('Owner'),
  },
  rewards: { pubkey: ({ pubKey }) => [pubKey] },
};

/** Returns the known values of a record that a filter is compared with. */
export function filteredValues<A extends RecordArray>(
  array: A,
  name: FilterName<A>,
  record: RecordOf<A>,
): readonly Value[] {
  const values = FILTERED_VALUES[array][name](record);
  return values.filter((value) => value !== null && value !== undefined);
}

/** Returns whether a record satisfies every filter of an item. */
export function matchesRecord<A extends RecordArray>(
  array: A,
  item: Item<A>,
  record: RecordOf<A>,
): boolean {
  const filters = Object.entries<Value | readonly (Value | AddressSet)[] | undefined>(item.filters);
  return filters.every(([name, wanted]) => {
    if (wanted === undefined) return true;
    const values = filteredValues(array, name as FilterName<A>, record);
    return values.some((value) =>
      Array.isArray(wanted)
        ? wanted.some((each) =>
            typeof each === 'object' ? textsOf(each).has(value) : each === value,
          )
        : wanted === value,
    );
  });
}

const knownTexts = new WeakMap<SharedArrayBuffer, ReadonlySet<unknown>>();

/** Returns the addresses of a set, whose keys are at the end of its memory. */
function textsOf({ memory, count }: AddressSet): ReadonlySet<unknown> {
  let texts = knownTexts.get(memory);
  if (texts === undefined) {
    const keys = new Uint8Array(memory, memory.byteLength - 32 * count).slice();
    const keyAt = (i: number) => keys.subarray(i * 32, (i + 1) * 32);
    texts = new Set(Array.from({ length: count }, (_, i) => base58.encode(keyAt(i))));
    knownTexts.set(memory, texts);
  }
  return texts;
}

/** A transaction without an error succeeded, unless its metadata is unknown. Then its fee is unknown too. */
function isCommitted({ err, fee }: Transaction): boolean | null {
  if (err !== null) return false;
  return fee === null ? null : true;
}

const discriminatorBytesMax = 16;

/** Returns the starts of the data as hex, from 0 to 16 bytes. */
function dataStarts({ data }: Instruction): readonly string[] {
  const hex = dataToHex(data);
  const byteCount = Math.min((hex.length - 2) / 2, discriminatorBytesMax);
  return Array.from({ length: byteCount + 1 }, (_, count) => hex.slice(0, 2 + 2 * count));
}

/** Returns all data as `0x` and hex digits. */
export function dataToHex(data: string): string {
  return `0x${Buffer.from(base58.decode(data)).toString('hex')}`;
}
