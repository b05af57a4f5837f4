import type { BlockRef } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { Anchor, HotBlock, IndexRun, SealedSegment, SegmentList } from './chain-snapshot.ts';
import type { ListContent } from './segment-lists.ts';

/**
 * The only ways in which a chain changes. A commit is a list of changes that becomes durable and visible as a whole.
 */
export type ChainChange =
  /** Sets where the chain begins. A null anchor is the beginning of the ledger, slot 0. */
  | { readonly kind: 'create'; readonly anchor: Anchor | null }
  /** Adds children of the head. Blocks that are already stored are ignored. */
  | { readonly kind: 'extend'; readonly blocks: readonly HotBlock[] }
  /** Replaces everything above the ancestor, which is a block of this chain, by another branch. */
  | { readonly kind: 'replace'; readonly ancestor: BlockRef; readonly blocks: readonly HotBlock[] }
  | { readonly kind: 'finalize'; readonly block: BlockRef }
  /** Adds finalized blocks above a chain that has no hot blocks, as an import does. */
  | { readonly kind: 'append-sealed'; readonly segments: readonly SealedSegment[] }
  /** Adds finalized history that links to the anchor. */
  | { readonly kind: 'prepend'; readonly segments: readonly SealedSegment[] }
  /** Removes the blocks below a slot, as far as whole segments outside lists allow. */
  | { readonly kind: 'trim'; readonly keepFrom: Slot }
  /** Moves the lowest hot blocks, which must be finalized, into segments with the same content. */
  | { readonly kind: 'seal'; readonly segments: readonly SealedSegment[] }
  /** Replaces consecutive segments outside lists by one with the same blocks. */
  | { readonly kind: 'merge'; readonly segment: SealedSegment }
  /** Moves segments, or lists, into a list that is in a file. */
  | { readonly kind: 'list'; readonly list: SegmentList }
  /** Replaces the first list by its content. */
  | { readonly kind: 'unlist'; readonly content: ListContent }
  /** Adds an index over segments, which replaces the indexes of the same slots. */
  | { readonly kind: 'index'; readonly run: IndexRun }
  /** Names files that are about to be written. */
  | { readonly kind: 'announce'; readonly files: readonly string[] }
  /** Forgets unused files that were removed. */
  | { readonly kind: 'forget'; readonly files: readonly string[] }
  /** Replaces segments and hot blocks by the same blocks in another format. */
  | {
      readonly kind: 'rewrite';
      readonly segments: readonly SealedSegment[];
      readonly blocks: readonly HotBlock[];
    };
