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
 * Quantities of 64 bits are decimal texts. All texts but log lines are plain ASCII that JSON prints as it is. Most are in the
 * block's pool; those of a transaction are good until the next transaction is made.
 */
import type { Address } from '../../ledger/primitives.ts';
import type { ChainBlock } from '../chain-block.ts';
import type { EraRules } from './eras.ts';
import type { NumberList, PooledText, TextList, TextPool } from './text-pool.ts';

export interface SimulatedBlock {
  readonly chainBlock: ChainBlock;
  readonly era: EraRules;
  /** Where its texts are. */
  readonly texts: TextPool;
  readonly transactionCount: number;
  /**
   * Makes one of them, always the same one at a place. A block is never held whole: whoever walks over it lets go of each
   * transaction before the next, which costs the collector of garbage next to nothing.
   */
  readonly transactionAt: (transactionIndex: number) => SimulatedTransaction;
  /** The highest version among them, -1 if all are legacy; found without making the rest of them. */
  readonly findVersionMax: () => number;
  readonly drawRewards: () => readonly SimulatedReward[];
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
  readonly recentBlockhash: PooledText;
  readonly lookups: readonly SimulatedLookup[];
  readonly calls: readonly Call[];
  readonly error: SimulatedError | null;
  readonly fee: PooledText;
  readonly computeUnits: PooledText;
  /** What the block's limits count: the units and a share for each signature and writable account. */
  readonly costUnits: PooledText;
  readonly preBalances: TextList;
  readonly postBalances: TextList;
  readonly holdings: readonly Holding[];
  readonly log: SimulatedLog;
}

export interface SimulatedLookup {
  readonly accountKey: PooledText;
  readonly writableIndexes: NumberList;
  readonly readonlyIndexes: NumberList;
}

/** One execution of an instruction, or one that was never reached. */
export interface Call {
  readonly programId: Address;
  readonly programIndex: number;
  readonly accounts: NumberList;
  /** Base58. */
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

export interface SimulatedLog {
  /** `none`: not recorded. `old`: in the forms of 2020, which tell calls from lines no more. */
  readonly form: 'modern' | 'old' | 'none';
  readonly lines: readonly LogLine[];
  /** The position of the truncation mark among the lines, or their number if there is none. */
  readonly markIndex: number;
  /** The lines as a JSON array, in pieces that follow one another; `null` where none were recorded. */
  readonly pieces: readonly PooledText[];
}

export interface LogLine {
  readonly role: 'invoke' | 'log' | 'data' | 'other' | 'consumed' | 'success' | 'failed' | 'mark';
  readonly text: string;
  /** Which of the transaction's calls printed it, counted in the order they run; -1 for the mark. */
  readonly caller: number;
}

/** A token account in a transaction; a side that is null did not exist. */
export interface Holding {
  readonly accountIndex: number;
  readonly pre: HoldingSide | null;
  readonly post: HoldingSide | null;
}

export interface HoldingSide {
  readonly mint: PooledText;
  readonly decimals: number;
  readonly owner: PooledText;
  readonly programId: PooledText;
  readonly amount: PooledText;
  /** The amount in whole tokens: exact, without zeros at the end. */
  readonly shown: PooledText;
  /** The same as the node's double prints, or `null` for nothing. */
  readonly float: PooledText;
}

export interface SimulatedReward {
  readonly pubkey: PooledText;
  readonly lamports: string;
  readonly postBalance: string;
  readonly rewardType: string | null;
  readonly commission: number | null;
}
