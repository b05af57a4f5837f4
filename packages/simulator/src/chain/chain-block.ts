/**
 * The position of one simulated block in the chain. Its transactions follow from the options of the simulator and from the blocks before
 * it.
 */
export interface ChainBlock {
  readonly slot: number;
  /** 0 is the branch that becomes final. The blocks of a fork have another number, and other content. */
  readonly branch: number;
  readonly parentSlot: number;
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly height: number;
  /** Unix seconds. */
  readonly blockTime: number;
  /** Returns the block before it; undefined for slot 0. */
  parent(): ChainBlock | undefined;
  /** Returns the slot of the next block on its branch; the next slot at the end of the branch. */
  nextSlot(): number;
}
