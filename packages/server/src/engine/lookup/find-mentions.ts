import { sliceOf } from '../../segment/indexes/ascending-lists.ts';
import type { EngineSegment } from '../engine-segment.ts';
import { BlockTransactions } from './block-transactions.ts';

/** The position of a transaction: its slot, and how many stored transactions of the block come before it. */
export interface TransactionPosition {
  readonly slot: number;
  readonly ordinal: number;
}

export interface MentionsLookup {
  readonly kind: 'mentions';
  /** 32 bytes. */
  readonly address: Uint8Array;
  /** Returns only transactions before this position; `null` returns all. */
  readonly before: TransactionPosition | null;
  readonly countMax: number;
}

export interface Mention extends TransactionPosition {
  /** Numbered from the first transaction of the segment. */
  readonly transaction: number;
}

/** Returns the newest transactions that name an address in any role, newest first. */
export function findMentions(
  { address, before, countMax }: MentionsLookup,
  { segment, index }: EngineSegment,
): readonly Mention[] {
  const id = index.find(address);
  if (id === undefined) return [];
  const byBlock = new BlockTransactions(segment);
  const list = index.transactions(id);
  const [, end] = sliceOf(list, 0, endBefore(before, byBlock));
  const newest = Array.from(list.subarray(Math.max(0, end - countMax), end)).reverse();
  return newest.map((transaction) => {
    const block = byBlock.blockOf(transaction);
    const ordinal = transaction - byBlock.startOf(block);
    return { transaction, slot: byBlock.slotOf(block), ordinal };
  });
}

function endBefore(before: TransactionPosition | null, byBlock: BlockTransactions): number {
  if (before === null) return Infinity;
  const block = byBlock.blockAtOrAfter(before.slot);
  const start = byBlock.startOf(block);
  const { blockEnd, end } = byBlock.within({ first: before.slot, last: before.slot });
  return blockEnd > block ? Math.min(start + before.ordinal, end) : start;
}
