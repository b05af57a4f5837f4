/**
 * A simulated block as what happened in it: the call tree of every transaction, the lines each call printed, the amounts
 * before and after. The raw JSON and the expected records are both rendered from this.
 *
 *   SimulatedBlock
 *   ├─ transactions ─ calls (top-level) ─ calls (made by them) ─ …
 *   │               ├ lines: what was printed and kept, in order, each with the call that printed it
 *   │               ├ preBalances, postBalances: one per key
 *   │               └ holdings: token accounts, before and after
 *   └─ rewards
 *
 * All texts but log lines are plain ASCII that JSON prints as it is. Most are in the block's pool; those of a transaction are good
 * until the next transaction is made.
 */
import type { ChainBlock } from '../chain/chain-block.ts';
import type { EraRules } from './eras.ts';
import type { LogRecorder } from './machine/log-recorder.ts';
import type { AmountList, NumberList, PooledText, TextList, TextPool } from './text-pool.ts';

export interface SimulatedBlock {
  readonly chainBlock: ChainBlock;
  readonly era: EraRules;
  /** Where its texts are. */
  readonly texts: TextPool;
  /**
   * Runs the block's transactions against the state that its parent left, in order, and shows each; always the same ones.
   * A block is never held whole: a transaction is good until the next one, which costs the garbage collector next to nothing.
   */
  readonly forEachTransaction: (
    visit: (transaction: SimulatedTransaction, transactionIndex: number) => void,
  ) => void;
  /** What the block pays. Runs its transactions if that was not done yet, since their fees are part of it. */
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
  /** What the block's limits count: the units and a share for each signature and writable account. */
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

/** One execution of an instruction, or one that was never reached. */
export interface Call {
  /** The place of the program among the keys. */
  readonly programIndex: number;
  readonly accounts: NumberList;
  /** Bytes, printed as base58. */
  readonly data: PooledText;
  /** 1 for a top-level instruction. */
  readonly depth: number;
  readonly calls: readonly Call[];
  /** False for what stands after the instruction that failed, and where nothing ran at all. */
  readonly ran: boolean;
}

/** `"Variant"` on the ledger if there is no detail, else `{"Variant":detail}`; the detail is JSON text. */
export interface SimulatedError {
  readonly variant: string;
  readonly detail: string | null;
}

/** A token account in a transaction; an amount that is null did not exist on that side. */
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
