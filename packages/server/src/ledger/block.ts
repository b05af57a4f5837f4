/**
 * A block as records, the form everything above the sources works with.
 *
 *   Block
 *   ├─ header
 *   ├─ transactions   sorted by transactionIndex (the raw position: dropped votes leave gaps)
 *   ├─ instructions   by (transactionIndex, instructionAddress), a prefix first: execution order
 *   ├─ logs           by (transactionIndex, logIndex)
 *   ├─ balances       by (transactionIndex, account text)
 *   ├─ tokenBalances  by (transactionIndex, account text)
 *   └─ rewards        by (pubKey, rewardType with null first, lamports, postBalance)
 *
 * A quantity of 64 bits is a bigint. Unknown is null. What derives from another field (`feePayer`, `d1`…`d8`, the wire's
 * second names) is not kept here.
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

/** The position of a block in a chain. */
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
  /** Null until the block is linked, where the source did not record it. */
  readonly height: number | null;
  /** Unix seconds; absurd values of the ledger are kept. */
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
  /** The text of a JSON object as it goes out, or null for success (or where nothing is known). */
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
  /** The path in the call tree: `[2, 0]` is the first call that top-level instruction 2 made. */
  readonly instructionAddress: readonly number[];
  readonly programId: Address;
  readonly accounts: readonly Address[];
  /** Base58, as the source sent it; empty data is the empty text. */
  readonly data: string;
  readonly error: string | null;
  readonly computeUnitsConsumed: bigint | null;
  /** Null where the ledger did not record whether the transaction succeeded. */
  readonly isCommitted: boolean | null;
  readonly hasDroppedLogMessages: boolean;
}

export type LogKind = 'log' | 'data' | 'other';

export interface Log {
  readonly transactionIndex: number;
  /** The position among all raw lines of the transaction: unique, with gaps. */
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
