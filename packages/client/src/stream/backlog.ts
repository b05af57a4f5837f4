/**
 * The blocks that a consumer has and that may still be replaced, with one finalized block below them as the floor:
 *
 *     floor (finalized)      received blocks, sparse        tip
 *     118 ─────────────── 121 ──── 124 ── 125 ──────────── 131
 *
 * A fork is found by comparing these blocks with those of the service. The floor cannot be replaced, so after any fork there is a common
 * block. Blocks below the floor are dropped.
 */
import type { BlockRef } from '../base/block-ref.ts';
import type { CursorState } from './cursor.ts';

export interface BacklogOptions {
  readonly fromBlock: number;
  readonly parentHash: string | undefined;
  /** The maximum number of blocks that are kept. */
  readonly countMax: number;
}

export class Backlog {
  readonly #countMax: number;
  #blocks: BlockRef[] = [];
  #isFloorFinal = false;
  /** The first slot of the stream, while no block since then has been dropped. */
  #from: number | undefined;
  #next: number;
  /** The hash of the block before the first one, if the query gives it. */
  readonly parentHash: string | undefined;

  constructor(options: BacklogOptions, state?: CursorState) {
    this.parentHash = options.parentHash;
    this.#countMax = options.countMax;
    this.#from = state === undefined ? options.fromBlock : state.from;
    this.#blocks = [...(state?.blocks ?? [])];
    this.#next = this.tip === undefined ? options.fromBlock : this.#slotAfter(this.tip);
  }

  get tip(): BlockRef | undefined {
    return this.#blocks.at(-1);
  }

  /** The first slot that has not been delivered. */
  get next(): number {
    return this.#next;
  }

  /** The blocks in ascending order. */
  get blocks(): readonly BlockRef[] {
    return this.#blocks;
  }

  /** The first slot of the stream; undefined once a block has been dropped. */
  get from(): number | undefined {
    return this.#from;
  }

  append(ref: BlockRef): void {
    this.#blocks.push(ref);
    this.#next = this.#slotAfter(ref);
    if (this.#blocks.length <= this.#countMax) return;
    // A finalized floor stays, because any fork can be rolled back to it.
    this.#blocks.splice(this.#isFloorFinal ? 1 : 0, 1);
    this.#from = undefined;
  }

  /** Returns whether a block differs from a received one of the same slot, or from one of `coming`. */
  contradicts(ref: BlockRef, coming: readonly BlockRef[]): boolean {
    const isOther = ({ number, hash }: BlockRef) => number === ref.number && hash !== ref.hash;
    return this.#blocks.some(isOther) || coming.some(isOther);
  }

  /** Drops the blocks below a finalized block of this chain. */
  finalize(finalized: BlockRef): void {
    const { tip } = this;
    if (tip === undefined) return;
    const floor = finalized.number >= tip.number ? tip : finalized;
    // A replica that is behind may report an older finalized block.
    const [lowest = tip] = this.#blocks;
    if (this.#isFloorFinal && floor.number <= lowest.number) return;
    // Below the start of the stream there is nothing to roll back.
    if (this.#from !== undefined && floor.number < this.#from) return;
    this.#blocks = [floor, ...this.#blocks.filter(({ number }) => number > floor.number)];
    this.#isFloorFinal = true;
    this.#from = undefined;
  }

  /** Makes a block the tip. It is a received block, or a block below all received ones. */
  rollBackTo(ref: BlockRef): void {
    const isFloor = this.#blocks[0]?.number === ref.number;
    this.#blocks = this.#blocks.filter(({ number }) => number < ref.number);
    if (this.#blocks.length === 0 && !isFloor) this.#isFloorFinal = false;
    this.#blocks.push(ref);
    this.#next = this.#slotAfter(ref);
  }

  #slotAfter({ number }: BlockRef): number {
    return Math.max(number + 1, this.#from ?? 0);
  }

  toState(): CursorState {
    const blocks = [...this.#blocks];
    return this.#from === undefined ? { blocks } : { blocks, from: this.#from };
  }
}
