import type { BlockRef } from '@sluice/ledger/block';
import type { BlockHash } from '@sluice/ledger/primitives';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { findHot, firstHotAtOrAfter } from '../../chain/find-blocks.ts';

/** Returns whether we have a block: as a hot block, the finalized head, the last sealed block or the anchor. */
export function ownsBlock(snapshot: ChainSnapshot, slot: number, hash: BlockHash | null): boolean {
  if (hash === null) return false;
  const { finalized, anchor, segments } = snapshot;
  const known = [findHot(snapshot, slot)?.header, finalized, segments.at(-1)?.last, anchor];
  return known.some((block) => block?.number === slot && block.hash === hash);
}

/** Returns the slot above which a branch may diverge from the chain: the slot of the finalized head, or of the anchor if nothing is final. */
export function forkFloor({ finalized, anchor }: ChainSnapshot): number {
  return finalized?.number ?? anchor?.number ?? -1;
}

/** Returns our newest block at or below a slot, if it is above the finalized head. */
export function newestUnfinalized(snapshot: ChainSnapshot, slot: number): BlockRef | undefined {
  const block = snapshot.hot[firstHotAtOrAfter(snapshot, slot + 1) - 1]?.header;
  if (block === undefined || block.number <= (snapshot.finalized?.number ?? -1)) return undefined;
  return { number: block.number, hash: block.hash };
}

/** Returns the slot of the head, or the slot below the start while there is no block. */
export function headSlot({ head, start }: ChainSnapshot): number {
  return head?.number ?? (start ?? 0) - 1;
}
