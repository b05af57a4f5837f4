import type { Address } from '@solana/kit';

/** An account as a ledger holds it; one that does not exist has nothing in it. */
export interface AccountState {
  readonly lamports: bigint;
  readonly owner: Address;
  readonly data: Uint8Array;
}

/** Where scenarios put what they need without a transaction: a bank of this process, or the genesis of a node. */
export interface Ground {
  addProgram(address: Address, bytes: Uint8Array): void;
  setAccount(address: Address, state: AccountState): void;
  /** What an account of so many bytes must hold to stay. */
  rentOf(dataBytes: number): bigint;
  /** A slot whose hash the slot-hashes account knows, as making a lookup table demands. */
  recentSlot(): bigint;
}
