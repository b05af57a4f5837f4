import type { BlockRef } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { type ChainFiles, findPreviousBlocks, findReplacedSlot } from '../chain/find-blocks.ts';

/** The range of a request. */
export interface StreamRange {
  readonly fromBlock: number;
  /** Inclusive; `undefined` follows the head. */
  readonly toBlock: number | undefined;
  readonly parentBlockHash: string | undefined;
  readonly finalizedOnly: boolean;
}

export type StartDecision =
  | { readonly kind: 'scan' }
  | { readonly kind: 'above-data' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'below-start'; readonly startBlock: Slot }
  | { readonly kind: 'conflict'; readonly previousBlocks: readonly BlockRef[] };

/** Returns the last block that a request may read: the head, or the finalized head. */
export function tipOf(snapshot: ChainSnapshot, finalizedOnly: boolean): BlockRef | null {
  return finalizedOnly ? snapshot.finalized : snapshot.head;
}

/** Compares a request with a snapshot. A parent hash is rejected only if the chain proves that it is wrong. */
export async function decideStart(
  snapshot: ChainSnapshot,
  range: StreamRange,
  files: ChainFiles,
): Promise<StartDecision> {
  const { start } = snapshot;
  if (start === null) return { kind: 'starting' };
  if (range.fromBlock < start) return { kind: 'below-start', startBlock: start };
  const tip = tipOf(snapshot, range.finalizedOnly);
  const isAbove = tip === null || range.fromBlock > tip.number;
  const decision: StartDecision = isAbove ? { kind: 'above-data' } : { kind: 'scan' };
  if (range.parentBlockHash === undefined) return decision;
  // If the range is above the data, its parent can only be the newest block, or the anchor if there is no block.
  const end = tip === null ? start : tip.number + 1;
  const below = Math.min(range.fromBlock, end);
  const previousBlocks = await findPreviousBlocks(snapshot, below, files);
  const parent = previousBlocks.at(-1);
  if (parent === undefined || parent.hash === range.parentBlockHash) return decision;
  const isProved = range.fromBlock <= end || isOrphan(snapshot, range);
  return isProved ? { kind: 'conflict', previousBlocks } : decision;
}

/** A replaced block is a wrong parent at any height; on the finalized stream only after its slot is final. */
function isOrphan(snapshot: ChainSnapshot, range: StreamRange): boolean {
  if (range.parentBlockHash === undefined) return false;
  const slot = findReplacedSlot(snapshot, range.parentBlockHash);
  if (slot === undefined) return false;
  return !range.finalizedOnly || (snapshot.finalized !== null && slot <= snapshot.finalized.number);
}
