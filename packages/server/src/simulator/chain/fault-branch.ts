import { assert } from '../../base/assert.ts';
import type { Slot } from '../../ledger/primitives.ts';
import type { Branch, SimulatedChain } from './chain.ts';
import type { ChainBlock } from './chain-block.ts';

export interface FaultBranchShape {
  /** The last block shared with the final chain. */
  readonly ancestor: Slot;
  readonly branch: number;
  /** Slots that have no block on this branch though the final chain has some there. */
  readonly gap?: { readonly first: number; readonly last: number };
}

/** A branch that a fault makes a node show: other blocks at the final chain's slots, for as long as the fault lasts. */
export class FaultBranch implements Branch {
  readonly #chain: SimulatedChain;
  readonly #shape: FaultBranchShape;

  constructor(chain: SimulatedChain, shape: FaultBranchShape) {
    assert(shape.gap === undefined || shape.gap.first > shape.ancestor, 'a gap is above the fork');
    this.#chain = chain;
    this.#shape = shape;
  }

  hasBlock(slot: number): boolean {
    return !this.#isInGap(slot) && this.#chain.hasBlock(slot);
  }

  previousBlock(slot: number): Slot {
    const { gap } = this.#shape;
    const at = this.#chain.previousBlock(slot);
    return gap !== undefined && this.#isInGap(at) ? this.#chain.previousBlock(gap.first - 1) : at;
  }

  blockAt(slot: number): ChainBlock | undefined {
    const { ancestor, branch } = this.#shape;
    if (slot <= ancestor) return this.#chain.blockAt(slot);
    if (!this.hasBlock(slot)) return undefined;
    const parentSlot = this.previousBlock(slot - 1);
    const height = this.#chain.height(slot) - this.#blocksInGapBelow(slot);
    const parentBranch = parentSlot === ancestor ? 0 : branch;
    const parent = { slot: parentSlot, branch: parentBranch };
    return this.#chain.build({ slot, branch, height }, parent, this);
  }

  nextBlock(slot: number): Slot {
    const { gap } = this.#shape;
    const at = this.#chain.nextBlock(slot);
    return gap !== undefined && this.#isInGap(at) ? this.#chain.nextBlock(gap.last + 1) : at;
  }

  #isInGap(slot: number): boolean {
    const { gap } = this.#shape;
    return gap !== undefined && slot >= gap.first && slot <= gap.last;
  }

  #blocksInGapBelow(slot: number): number {
    const { gap } = this.#shape;
    if (gap === undefined || slot <= gap.last) return 0;
    const last = this.#chain.previousBlock(gap.last);
    const below = this.#chain.previousBlock(gap.first - 1);
    return this.#chain.height(last) - this.#chain.height(below);
  }
}
