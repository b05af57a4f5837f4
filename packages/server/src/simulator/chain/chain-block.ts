import type { BlockHash, Slot } from '../../ledger/primitives.ts';

/**
 * The place of one simulated block in the chain. Its transactions follow from the simulator's options and from the blocks
 * before it.
 */
export interface ChainBlock {
  readonly slot: Slot;
  /** 0 is the branch that ends up final; a fork's blocks carry another number, and other content. */
  readonly branch: number;
  readonly parentSlot: Slot;
  readonly blockhash: BlockHash;
  readonly previousBlockhash: BlockHash;
  readonly height: number;
  /** Unix seconds. */
  readonly blockTime: number;
  /** The block before it; none before slot 0. */
  parent(): ChainBlock | undefined;
  /** The slot of the block after it on its branch; the slot after its own where the branch ends. */
  nextSlot(): number;
}
