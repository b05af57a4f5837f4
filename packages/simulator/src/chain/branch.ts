/**
 * The final chain, and branches that share its blocks up to an ancestor. The blocks of a branch are either at slots of their own (a fork
 * of the chain) or at the slots of the final chain outside a gap (a fork that a fault causes).
 *
 *   final chain    B B B B . B B B B
 *   branch              └ f . . f f     ancestor: the third block
 */
import type { ChainBlock } from './chain-block.ts';

export interface Branch {
  blockAt(slot: number): ChainBlock | undefined;
  hasBlock(slot: number): boolean;
  /** Returns the slot of the highest block at or below the slot. */
  previousBlock(slot: number): number;
  /** Returns the slot of the lowest block at or above the slot; the slot itself after the end of the branch. */
  nextBlock(slot: number): number;
}

export interface BlockPosition {
  readonly slot: number;
  readonly branch: number;
}

export type NewPosition = BlockPosition & { readonly height: number };

/** The methods of the final chain that a branch uses. */
export interface Trunk extends Branch {
  height(slot: number): number;
  build(position: NewPosition, parent: BlockPosition, line: Branch): ChainBlock;
}

export interface BranchShape {
  /** The last block that the branch shares with the final chain. */
  readonly ancestor: number;
  readonly branch: number;
  /** The slots of its blocks, ascending. Default: the slots of the final chain. */
  readonly slots?: readonly number[];
  /** Slots above the ancestor that have no block on this branch, although the final chain has blocks there. */
  readonly gap?: { readonly first: number; readonly last: number };
}

export class SideBranch implements Branch {
  readonly #trunk: Trunk;
  readonly #shape: BranchShape;

  constructor(trunk: Trunk, shape: BranchShape) {
    this.#trunk = trunk;
    this.#shape = shape;
  }

  get ancestor(): number {
    return this.#shape.ancestor;
  }

  hasBlock(slot: number): boolean {
    if (slot <= this.ancestor) return this.#trunk.hasBlock(slot);
    const { slots } = this.#shape;
    return slots?.includes(slot) ?? (this.#trunk.hasBlock(slot) && !this.#isInGap(slot));
  }

  previousBlock(slot: number): number {
    const { ancestor, slots, gap } = this.#shape;
    if (slots !== undefined && slot > ancestor)
      return slots.findLast((at) => at <= slot) ?? ancestor;
    const at = this.#trunk.previousBlock(slot);
    return gap !== undefined && this.#isInGap(at) ? this.#trunk.previousBlock(gap.first - 1) : at;
  }

  nextBlock(slot: number): number {
    const { ancestor, slots, gap } = this.#shape;
    if (slots !== undefined && slot > ancestor) return slots.find((at) => at >= slot) ?? slot;
    const at = this.#trunk.nextBlock(slot);
    return gap !== undefined && this.#isInGap(at) ? this.#trunk.nextBlock(gap.last + 1) : at;
  }

  blockAt(slot: number): ChainBlock | undefined {
    const { ancestor, branch } = this.#shape;
    if (slot <= ancestor) return this.#trunk.blockAt(slot);
    if (!this.hasBlock(slot)) return undefined;
    const parentSlot = this.previousBlock(slot - 1);
    const parent = { slot: parentSlot, branch: parentSlot === ancestor ? 0 : branch };
    return this.#trunk.build({ slot, branch, height: this.#height(slot) }, parent, this);
  }

  #height(slot: number): number {
    const trunk = this.#trunk;
    const { ancestor, slots, gap } = this.#shape;
    if (slots !== undefined) return trunk.height(ancestor) + 1 + slots.indexOf(slot);
    if (gap === undefined || slot <= gap.last) return trunk.height(slot);
    const heightBefore = (at: number) => trunk.height(trunk.previousBlock(at));
    return trunk.height(slot) + heightBefore(gap.first - 1) - heightBefore(gap.last);
  }

  #isInGap(slot: number): boolean {
    const { gap } = this.#shape;
    return gap !== undefined && slot >= gap.first && slot <= gap.last;
  }
}
