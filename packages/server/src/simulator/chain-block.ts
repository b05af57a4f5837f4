import type { BlockHash, Slot } from '../ledger/primitives.ts';

/**
 * The skeleton of one simulated block: its place in the chain. The rest of the block, every transaction of it, is a pure
 * function of the simulator's options, the branch and the slot.
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
}
