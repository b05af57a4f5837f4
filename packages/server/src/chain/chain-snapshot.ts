/**
 * The chain of one dataset at one moment. Immutable: a reader that holds a snapshot sees one committed state for as long
 * as it likes.
 *
 *   anchor ── segments (sealed, finalized) ── hot blocks ────────────── head
 *            └ start = anchor's slot + 1          └ finalized head
 *
 * Blocks below `hot` are in sealed segments and finalized; the finalized head may lie in either part.
 */
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';

export interface ChainSnapshot {
  /** Grows by one with every commit. Two snapshots of one process with the same version are the same. */
  readonly version: number;
  /** The lowest slot that can be asked for; null until the dataset knows where it begins. */
  readonly start: Slot | null;
  /** The block just below the first stored one; null where there is none: from slot 0, or before the start is known. */
  readonly anchor: Anchor | null;
  readonly head: BlockRef | null;
  readonly finalized: BlockRef | null;
  /** Ascending, each one linked to the one before it. */
  readonly segments: readonly SealedSegment[];
  /** Ascending, linked to the last segment, or to the anchor where there is none. */
  readonly hot: readonly HotBlock[];
  /** Blocks that a fork took away and that were not adopted again, oldest first, with their slots. */
  readonly replaced: ReadonlyMap<BlockHash, Slot>;
}

export interface Anchor {
  readonly number: Slot;
  /** Null where the source did not know it: then nothing can be judged by it. */
  readonly hash: BlockHash | null;
}

/** Names the bytes of one stored one-block segment; the journal of the dataset knows where they are. */
export type PayloadId = number;

export interface HotBlock {
  readonly header: BlockHeader;
  readonly payload: PayloadId;
}

/** A run of finalized blocks in a file of its own. */
export interface SealedSegment {
  /** The name of its file, which is also its identity. */
  readonly id: string;
  readonly first: BlockRef;
  readonly last: BlockRef;
  /** The parent of the first block. */
  readonly parentSlot: Slot;
  readonly parentHash: BlockHash | null;
  /** The height of the last block. */
  readonly lastHeight: number | null;
  readonly blockCount: number;
  readonly byteLength: number;
  /** The greatest time of its blocks, in unix seconds; null if none has one. */
  readonly timestampMax: bigint | null;
}

export const emptySnapshot: ChainSnapshot = {
  version: 0,
  start: null,
  anchor: null,
  head: null,
  finalized: null,
  segments: [],
  hot: [],
  replaced: new Map(),
};
