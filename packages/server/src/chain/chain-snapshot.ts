/**
 * The chain of one dataset at one moment. A snapshot is immutable: a reader that holds it sees one committed state for
 * as long as it needs.
 *
 *   anchor ── front ── lists ── segments (all sealed, finalized) ── hot blocks ────────────── head
 *            └ start = anchor's slot + 1                               └ finalized head
 *
 * All blocks in segments are finalized. The finalized head may be in either part.
 */
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import type { IndexShape } from '../segment/history/layout.ts';
import type { SignatureIndexRange } from '../segment/indexes/signature-index-range.ts';

export interface ChainSnapshot {
  /** Increases by one with every commit. Within one process, two snapshots with the same version are identical. */
  readonly version: number;
  /** The lowest slot that a query may request, or null until the start of the dataset is known. */
  readonly start: Slot | null;
  /**
   * The block directly below the first stored one. Null if the chain starts at slot 0 or its start is not known yet.
   */
  readonly anchor: Anchor | null;
  readonly head: BlockRef | null;
  readonly finalized: BlockRef | null;
  /** The oldest segments, ascending. Empty if there are no lists. See `segment-lists.ts`. */
  readonly front: readonly SealedSegment[];
  /** Older segments in lists, ascending. */
  readonly lists: readonly SegmentList[];
  /** The newest segments, ascending, each linked to its predecessor. Not empty if there are lists. */
  readonly segments: readonly SealedSegment[];
  /** Indexes over segments, ascending. They cover most segments, but not those that are new. */
  readonly indexes: readonly IndexRun[];
  /** Ascending, linked to the last segment, or to the anchor if there is no segment. */
  readonly hot: readonly HotBlock[];
  /** The slots of blocks that a fork removed and that were not adopted again, by hash, oldest first. */
  readonly replaced: ReadonlyMap<BlockHash, Slot>;
  /**
   * Files that may exist and that this state does not need, relative to the dataset's folder: they will be removed. A file is announced
   * here before it is written, so that a crash before its commit does not leave it for ever.
   */
  readonly unused: readonly string[];
}

export interface Anchor {
  readonly number: Slot;
  /** Null if the source did not know it. A hash cannot be verified against such an anchor. */
  readonly hash: BlockHash | null;
}

/**
 * Identifies the stored bytes of a hot block, a segment of one block. The journal of the dataset knows their location.
 */
export type PayloadId = number;

export interface HotBlock {
  readonly header: BlockHeader;
  readonly payload: PayloadId;
}

/** A contiguous run of finalized blocks in its own file. */
export interface SealedSegment {
  /** The file name, which is also the identity of the segment. */
  readonly id: string;
  readonly first: BlockRef;
  readonly last: BlockRef;
  readonly parentSlot: Slot;
  readonly parentHash: BlockHash | null;
  readonly lastHeight: number | null;
  readonly blockCount: number;
  readonly byteLength: number;
  /** The maximum timestamp of its blocks in Unix seconds, or null if no block has one. */
  readonly timestampMax: bigint | null;
  /** Absent if an earlier version stored the segment: a lookup then reads the segment's directory. */
  readonly signatures?: SignatureIndexRange;
}

/** Describes consecutive segments, or shorter lists of them, that are in a file. */
export interface SegmentList extends Omit<SealedSegment, 'signatures'> {
  /** 0 if it has segments; otherwise it has lists whose depth is less by one. */
  readonly depth: number;
  readonly segmentCount: number;
}

/** Describes an index over consecutive segments, which is a file. */
export interface IndexRun extends IndexShape {
  readonly id: string;
  /** The slots that it covers, both inclusive: those after the parent of its first block. */
  readonly first: number;
  readonly last: number;
  readonly byteLength: number;
}

export const emptySnapshot: ChainSnapshot = {
  version: 0,
  start: null,
  anchor: null,
  head: null,
  finalized: null,
  front: [],
  lists: [],
  segments: [],
  indexes: [],
  hot: [],
  replaced: new Map(),
  unused: [],
};
