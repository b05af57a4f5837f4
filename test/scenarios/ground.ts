import type { Address } from '@solana/kit';

/** An account in a ledger. One that does not exist is empty. */
export interface AccountState {
  readonly lamports: bigint;
  readonly owner: Address;
  readonly data: Uint8Array;
}

/** Where scenarios create accounts without a transaction: LiteSVM in this process, or the genesis of a node. */
export interface Ground {
  addProgram(address: Address, bytes: Uint8Array): void;
  setAccount(address: Address, state: AccountState): void;
  /** The minimum balance of an account of this size. */
  rentOf(dataBytes: number): bigint;
  /** A slot whose hash is in the slot-hashes account, which creating a lookup table requires. */
  recentSlot(): bigint;
}
