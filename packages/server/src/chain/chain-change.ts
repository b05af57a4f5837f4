import type { BlockRef } from '../ledger/block.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { Anchor, HotBlock, SealedSegment } from './chain-snapshot.ts';

/** The only ways a chain changes. A commit is a list of them: all of it becomes durable and visible, or none. */
export type ChainChange =
  /** Says where the chain begins; a null anchor is the beginning of the ledger, slot 0. */
  | { readonly kind: 'create'; readonly anchor: Anchor | null }
  /** Adds children of the head. Blocks that are stored already are passed over. */
  | { readonly kind: 'extend'; readonly blocks: readonly HotBlock[] }
  /** Puts a branch in the place of everything above an own block, the ancestor. */
  | { readonly kind: 'replace'; readonly ancestor: BlockRef; readonly blocks: readonly HotBlock[] }
  | { readonly kind: 'finalize'; readonly block: BlockRef }
  /** Adds finalized blocks above a chain without hot ones, as an import does. */
  | { readonly kind: 'append-sealed'; readonly segments: readonly SealedSegment[] }
  /** Adds finalized history that links to the anchor. */
  | { readonly kind: 'prepend'; readonly segments: readonly SealedSegment[] }
  /** Drops what lies wholly below a slot. */
  | { readonly kind: 'trim'; readonly keepFrom: Slot }
  /** Moves the lowest hot blocks, which are finalized, into segments that hold the same. */
  | { readonly kind: 'seal'; readonly segments: readonly SealedSegment[] }
  /** Puts other bytes of the same blocks in the place of segments and hot blocks: they were converted to another format. */
  | {
      readonly kind: 'rewrite';
      readonly segments: readonly SealedSegment[];
      readonly blocks: readonly HotBlock[];
    };
