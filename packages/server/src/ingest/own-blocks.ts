import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { findHot, firstHotAtOrAfter } from '../chain/find-blocks.ts';
import type { BlockRef } from '../ledger/block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';

/** Whether a block is ours, as far as forks matter: hot, the finalized head, the last sealed one, or the anchor. */
export function ownsBlock(snapshot: ChainSnapshot, slot: number, hash: BlockHash | null): boolean {
  if (hash === null) return false;
  const { finalized, anchor, segments } = snapshot;
  const known = [findHot(snapshot, slot)?.header, finalized, segments.at(-1)?.last, anchor];
  return known.some((one) => one?.number === slot && one.hash === hash);
}

/** The slot above which a branch may leave the chain: that of the finalized head, else of the anchor. */
export function forkFloor({ finalized, anchor }: ChainSnapshot): number {
  return finalized?.number ?? anchor?.number ?? -1;
}

/** The newest own block at or below a slot that is above the finalized head. */
export function newestUnfinalized(snapshot: ChainSnapshot, slot: number): BlockRef | undefined {
  const block = snapshot.hot[firstHotAtOrAfter(snapshot, slot + 1) - 1]?.header;
  if (block === undefined || block.number <= (snapshot.finalized?.number ?? -1)) return undefined;
  return { number: block.number, hash: block.hash };
}

/** The slot of the head, or the one below the start while there is no block. */
export function headSlot({ head, start }: ChainSnapshot): Slot {
  return (head?.number ?? (start ?? 0) - 1) as Slot;
}
