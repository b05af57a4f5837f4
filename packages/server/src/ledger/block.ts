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
 * 64-bit quantities are bigints. Unknown values are null. Values that derive from other fields (`feePayer`, `d1`…`d8`,
 * the alternative names on the wire) are not stored here.
 */
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

export interface Transaction {
  readonly transactionIndex: number;
  /** -1 is legacy. */
  readonly version: number;
  readonly accountKeys: readonly Address[];
  readonly addressTableLookups: readonly AddressTableLookup[];
  readonly numReadonlySignedAccounts: number;
  readonly numReadonlyUnsignedAccounts: number;
  readonly numRequiredSignatures: number;
  readonly recentBlockhash: string;
  readonly signatures: readonly Signature[];
  /**
   * The JSON text of the error object as it is sent to clients. Null if the transaction succeeded or its status is
   * unknown.
   */
  readonly err: string | null;
  readonly fee: bigint | null;
  readonly computeUnitsConsumed: bigint | null;
  readonly loadedAddresses: LoadedAddresses;
  readonly hasDroppedLogMessages: boolean;
}

export interface AddressTableLookup {
  readonly accountKey: Address;
  readonly readonlyIndexes: readonly number[];
  readonly writableIndexes: readonly number[];
}

export interface LoadedAddresses {
  readonly readonly: readonly Address[];
  readonly writable: readonly Address[];
}

export interface Instruction {
  readonly transactionIndex: number;
  /** The path in the call tree: `[2, 0]` is the first call made by top-level instruction 2. */
  readonly instructionAddress: readonly number[];
  readonly programId: Address;
  readonly accounts: readonly Address[];
  /** Base58, as received from the source. Empty data is the empty text. */
  readonly data: string;
  readonly error: string | null;
  readonly computeUnitsConsumed: bigint | null;
  /** Null if the ledger did not record whether the transaction succeeded. */
  readonly isCommitted: boolean | null;
  readonly hasDroppedLogMessages: boolean;
}

export type LogKind = 'log' | 'data' | 'other';

export interface Log {
  readonly transactionIndex: number;
  /** The index among all raw log lines of the transaction: unique, with gaps. */
  readonly logIndex: number;
  readonly instructionAddress: readonly number[];
  readonly programId: Address;
  readonly kind: LogKind;
  readonly message: string;
}

export interface Balance {
  readonly transactionIndex: number;
  readonly account: Address;
  readonly pre: bigint;
  readonly post: bigint;
}

export interface TokenBalance {
  readonly transactionIndex: number;
  readonly account: Address;
  readonly preMint: Address | null;
  readonly postMint: Address | null;
  readonly preDecimals: number | null;
  readonly postDecimals: number | null;
  readonly preProgramId: Address | null;
  readonly postProgramId: Address | null;
  readonly preOwner: Address | null;
  readonly postOwner: Address | null;
  readonly preAmount: bigint | null;
  readonly postAmount: bigint | null;
}

export interface Reward {
  readonly pubKey: Address;
  readonly lamports: bigint;
  readonly postBalance: bigint;
  readonly rewardType: string | null;
  readonly commission: number | null;
}
