/**
 * The blocks that a consumer holds and that may still be replaced, with one finalized block below them as the floor:
 *
 *     floor (finalized)      blocks that came, sparse       tip
 *     118 ─────────────── 121 ──── 124 ── 125 ──────────── 131
 *
 * A fork is found by comparing these with the blocks of the service. The floor cannot be replaced, so whatever happens
 * above it a common block is known. Blocks below the floor are dropped.
 */
import type { BlockRef } from './block-ref.ts';
import type { CursorState } from './cursor.ts';

export interface BacklogOptions {
  readonly fromBlock: number;
  readonly parentHash: string | undefined;
  /** The most blocks that are kept. */
  readonly countMax: number;
}

export class Backlog {
  readonly #countMax: number;
  #blocks: BlockRef[] = [];
  #isFloorFinal = false;
  /** Where the stream began, while no block since then has been dropped. */
  #from: number | undefined;
  #next: number;
  /** The hash that the query wants the block before the first one to have. */
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

  /** Ascending. */
  get blocks(): readonly BlockRef[] {
    return this.#blocks;
  }

  /** The slot where the stream began, if nothing that came since then has been dropped. */
  get from(): number | undefined {
    return this.#from;
  }

  append(ref: BlockRef): void {
    this.#blocks.push(ref);
    this.#next = this.#slotAfter(ref);
    if (this.#blocks.length <= this.#countMax) return;
    // A finalized floor stays: it is the block that any fork can be rolled back to.
    this.#blocks.splice(this.#isFloorFinal ? 1 : 0, 1);
    this.#from = undefined;
  }

  /** Whether a block is another one than the block of the same slot that is held, or that is about to be. */
  contradicts(ref: BlockRef, coming: readonly BlockRef[]): boolean {
    const isOther = ({ number, hash }: BlockRef) => number === ref.number && hash !== ref.hash;
    return this.#blocks.some(isOther) || coming.some(isOther);
  }

  /** Drops what a finalized block on this chain makes needless. */
  finalize(finalized: BlockRef): void {
    const { tip } = this;
    if (tip === undefined) return;
    const floor = finalized.number >= tip.number ? tip : finalized;
    // A replica that is behind may name an older one.
    const [lowest = tip] = this.#blocks;
    if (this.#isFloorFinal && floor.number <= lowest.number) return;
    // Below the beginning of the stream there is nothing to roll back.
    if (this.#from !== undefined && floor.number < this.#from) return;
    this.#blocks = [floor, ...this.#blocks.filter(({ number }) => number > floor.number)];
    this.#isFloorFinal = true;
    this.#from = undefined;
  }

  /** Makes a block the tip: one that is held, or one below everything that was delivered. */
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
