/**
 * The events of a simulated block: the call tree of every transaction, the lines that each call printed, the amounts before and after.
 * Both the raw JSON and the expected records are derived from it.
 *
 *   SimulatedBlock
 *   ├─ transactions ─ calls (top-level) ─ calls (made by them) ─ …
 *   │               ├ lines: the lines of the log, in order, each with the call that printed it
 *   │               ├ preBalances, postBalances: one per key
 *   │               └ holdings: token accounts, before and after
 *   └─ rewards
 *
 * All texts except log lines are plain ASCII that JSON prints unchanged. Most are in the block's pool. Those of a transaction are valid
 * until the next transaction is generated.
 */
import type { ChainBlock } from '../chain/chain-block.ts';
import type { EraRules } from './eras.ts';
import type { LogRecorder } from './machine/log-recorder.ts';
import type { AmountList, NumberList, PooledText, TextList, TextPool } from './text/text-pool.ts';

export interface SimulatedBlock {
  readonly chainBlock: ChainBlock;
  readonly era: EraRules;
  /** The pool of its texts. */
  readonly texts: TextPool;
  /**
   * Runs the transactions of the block on the state after its parent, in order, and passes each to the callback. Every run gives the same
   * transactions. A transaction is valid until the next one, so that a whole block is never in memory.
   */
  readonly forEachTransaction: (
    visit: (transaction: SimulatedTransaction, transactionIndex: number) => void,
  ) => void;
  /** Returns the rewards. Runs the transactions first if they were not run yet, because the fees are part of the rewards. */
  readonly rewards: () => readonly SimulatedReward[];
}

export interface SimulatedTransaction {
  readonly version: 'legacy' | 0 | 1;
  readonly signatures: TextList;
  /** Static keys, then loaded writable ones, then loaded read-only ones. */
  readonly keys: TextList;
  readonly keyCount: number;
  readonly staticCount: number;
  readonly loadedWritableCount: number;
  readonly requiredSignatureCount: number;
  readonly readonlySignedCount: number;
  readonly readonlyUnsignedCount: number;
  readonly recentBlockhash: string;
  readonly lookups: readonly SimulatedLookup[];
  readonly calls: readonly Call[];
  readonly error: SimulatedError | null;
  readonly fee: number;
  readonly computeUnits: number;
  /** The cost that counts for the limits of a block: the units, and an amount for each signature and writable account. */
  readonly costUnits: number;
  readonly preBalances: AmountList;
  readonly postBalances: AmountList;
  readonly holdings: readonly Holding[];
  readonly log: LogRecorder;
}

export interface SimulatedLookup {
  readonly accountKey: PooledText;
  readonly writableIndexes: NumberList;
  readonly readonlyIndexes: NumberList;
}

/** One execution of an instruction, or an instruction that did not run. */
export interface Call {
  /** The index of the program among the keys. */
  readonly programIndex: number;
  readonly accounts: NumberList;
  /** Bytes, printed as base58. */
  readonly data: PooledText;
  /** 1 for a top-level instruction. */
  readonly depth: number;
  readonly calls: readonly Call[];
  /** False for the instructions after a failed one, and for a transaction that did not run. */
  readonly ran: boolean;
}

/** `"Variant"` on the ledger if the detail is null, otherwise `{"Variant":detail}`. The detail is JSON text. */
export interface SimulatedError {
  readonly variant: string;
  readonly detail: string | null;
}

/** A token account in a transaction. A null amount means that the account did not exist before or after it. */
export interface Holding {
  readonly accountIndex: number;
  readonly mint: PooledText;
  readonly decimals: number;
  readonly owner: PooledText;
  readonly programId: PooledText;
  readonly pre: AmountList | null;
  readonly post: AmountList | null;
}

export interface SimulatedReward {
  readonly pubkey: string;
  readonly lamports: string;
  readonly postBalance: string;
  readonly rewardType: string | null;
  readonly commission: number | null;
}
