/**
 * A block as records, the form that every layer above the sources uses.
 *
 *   Block
 *   ├─ header
 *   ├─ transactions   sorted by transactionIndex (the position in the raw block: dropped votes leave gaps)
 *   ├─ instructions   by (transactionIndex, instructionAddress), a prefix first: execution order
 *   ├─ logs           by (transactionIndex, logIndex)
 *   ├─ balances       by (transactionIndex, account text)
 *   ├─ tokenBalances  by (transactionIndex, account text)
 *   └─ rewards        by (pubKey, rewardType with null first, lamports, postBalance)
 *
 * The fields of the records are those of the table of the wire format, except for the derived ones (`feePayer`, `d1`…`d8`, the
 * alternative names). Unknown values are null.
 */
import type { FIELDS, LogKind, RecordKind, StoredFieldName } from '@sluice/protocol/field-table';
import type { Address, BlockHash, Signature, Slot } from './primitives.ts';

export interface Block {
  readonly header: BlockHeader;
  readonly transactions: readonly Transaction[];
  readonly instructions: readonly Instruction[];
  readonly logs: readonly Log[];
  readonly balances: readonly Balance[];
  readonly tokenBalances: readonly TokenBalance[];
  readonly rewards: readonly Reward[];
}

/** Identifies a block by its slot and hash. */
export interface BlockRef {
  readonly number: Slot;
  readonly hash: BlockHash;
}

export interface BlockHeader {
  readonly number: Slot;
  readonly hash: BlockHash;
  readonly parentSlot: Slot;
  /** Null if the source does not know it, and for slot 0. */
  readonly parentHash: BlockHash | null;
  /** Null until the block is linked, if the source did not provide it. */
  readonly height: number | null;
  /** Unix seconds. Implausible values of the ledger are kept. */
  readonly timestamp: bigint | null;
}

/** The values of stored fields, by their type on the wire. */
export interface StoredValues {
  integer: number;
  quantity: bigint;
  /** -1 is legacy. */
  version: number;
  boolean: boolean;
  text: string;
  address: Address;
  hash: string;
  /** As received from the source. Empty data is the empty text. */
  base58: string;
  logKind: LogKind;
  addresses: readonly Address[];
  signatures: readonly Signature[];
  /** A path in the call tree: `[2, 0]` is the first call made by top-level instruction 2. */
  path: readonly number[];
  /** The JSON text of the object as it is sent to clients. */
  errorObject: string;
  addressTableLookups: readonly AddressTableLookup[];
  loadedAddresses: LoadedAddresses;
}

type StoredValue<Row> = Row extends { wire: infer Wire extends keyof StoredValues }
  ? StoredValues[Wire] | (Row extends { nullable: true } ? null : never)
  : never;

/** The stored fields of a record. */
export type StoredRecord<K extends RecordKind> = {
  readonly [Name in StoredFieldName<K> & keyof (typeof FIELDS)[K]]: StoredValue<
    (typeof FIELDS)[K][Name]
  >;
};

/** `err` is null if the transaction succeeded or its status is unknown; then `fee` is null too. */
export type Transaction = StoredRecord<'transaction'>;
/** `isCommitted` is null if the ledger did not record whether the transaction succeeded. */
export type Instruction = StoredRecord<'instruction'>;
export type Log = StoredRecord<'log'>;
export type Balance = StoredRecord<'balance'>;
export type TokenBalance = StoredRecord<'tokenBalance'>;
export type Reward = StoredRecord<'reward'>;

export interface AddressTableLookup {
  readonly accountKey: Address;
  readonly readonlyIndexes: readonly number[];
  readonly writableIndexes: readonly number[];
}

export interface LoadedAddresses {
  readonly readonly: readonly Address[];
  readonly writable: readonly Address[];
}
