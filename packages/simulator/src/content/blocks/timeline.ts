/**
 * Moves the world along the chain. Time is divided into windows, and every window starts with the same state. So to generate any block,
 * only the blocks before it in its window must be run. Within a window, the journal of the world can be rewound to any block that was
 * run.
 *
 *   window w      1000 ─ 1001 ─ 1002 ─ 1003 ─ …          the path that the world has run: key and journal mark of each block
 *                           └── 1002' ─ 1003'            a branch: rewind to 1001, run the blocks of the branch
 */
import { elementAt } from '@sluice/base/element-at';
import type { Random } from '@sluice/base/random';
import type { ChainBlock } from '../../chain/chain-block.ts';
import type { ContentOptions } from '../content-options.ts';
import type { SimulatedReward } from '../simulated-block.ts';
import type { AddressBook } from '../world/address-book.ts';
import type { World } from '../world/world.ts';
import { listOutsideRewards, voteLamports } from './rewards.ts';
import type { BlockRunner, VisitTransaction } from './run-block.ts';

/** The approximate number of transactions of a window; a vote counts as a third. */
const WINDOW_TRANSACTIONS = 1 << 14;
const WINDOW_SLOTS_MIN = 32;
const WINDOW_SLOTS_MAX = 2048;
/** The number of blocks whose hashes transactions can name. */
const RECENT_COUNT = 20;

interface Step {
  readonly key: string;
  /** The position in the journal before the block. */
  readonly mark: number;
  readonly blockhash: string;
  readonly rewards: readonly SimulatedReward[];
}

export interface TimelineDependencies {
  readonly runner: BlockRunner;
  /** The source of the random rewards outside the world. */
  readonly random: Random;
  readonly world: World;
  readonly book: AddressBook;
}

export class Timeline {
  readonly windowSlots: number;
  readonly #options: ContentOptions;
  readonly #dependencies: TimelineDependencies;
  /** The blocks that the world has run since the window started. */
  readonly #path: Step[] = [];
  #window = -1;
  /** The parent of the window's first block. It determines which rewards were paid earlier. */
  #parentSlot = -1;

  constructor(options: ContentOptions, dependencies: TimelineDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.windowSlots = countWindowSlots(options);
  }

  /** Runs a block and leaves the world in the state after it. */
  run(block: ChainBlock, visit: VisitTransaction | null): void {
    this.#goBefore(block);
    this.#runOne(block, visit);
  }

  rewardsOf(block: ChainBlock): readonly SimulatedReward[] {
    if (this.#find(block) < 0) this.run(block, null);
    const { rewards } = elementAt(this.#path, this.#find(block));
    const { book, random } = this.#dependencies;
    const outside = listOutsideRewards(block, this.#options, { pool: book.pool, random });
    return [...rewards, ...outside];
  }

  /** Returns the index of a block in the path, or -1. */
  #find(block: ChainBlock): number {
    if (this.#windowOf(block) !== this.#window) return -1;
    const key = keyOf(block);
    return this.#path.findLastIndex((step) => step.key === key);
  }

  /** Changes the world to the state after the block's parent, or to the start of the window if the parent is in another window. */
  #goBefore(block: ChainBlock): void {
    const missing: ChainBlock[] = [];
    let ancestor = block.parent();
    let position = -1;
    while (ancestor !== undefined && this.#windowOf(ancestor) === this.#windowOf(block)) {
      position = this.#find(ancestor);
      if (position >= 0) break;
      missing.push(ancestor);
      ancestor = ancestor.parent();
    }
    if (position < 0) this.#enterWindow(this.#windowOf(block), missing.at(-1) ?? block);
    else this.#rewindTo(position + 1);
    for (const slot of missing.reverse()) this.#runOne(slot, null);
  }

  #enterWindow(window: number, first: ChainBlock): void {
    this.#rewindTo(0);
    const parentSlot = first.slot === 0 ? -1 : first.parentSlot;
    if (window === this.#window && parentSlot === this.#parentSlot) return;
    this.#window = window;
    this.#parentSlot = parentSlot;
    this.#dependencies.book.enterWindow(window);
    const { voteAccounts, validatorCount, cells, start } = this.#dependencies.world;
    for (let i = 0; i < validatorCount; i++) {
      const lamports = voteLamports(this.#options, i, parentSlot + 1);
      cells.values[voteAccounts + i] = lamports;
      start[voteAccounts + i] = lamports;
    }
  }

  #runOne(block: ChainBlock, visit: VisitTransaction | null): void {
    const { mark } = this.#dependencies.world.cells;
    const { windowSlots } = this;
    const isLast = Math.floor(block.nextSlot() / windowSlots) > this.#window;
    const slotsLeft = (this.#window + 1) * windowSlots - block.slot;
    const hashes = this.#path.slice(-RECENT_COUNT).map((step) => step.blockhash);
    const position = { isLast, slotsLeft, windowSlots, hashes };
    const rewards = this.#dependencies.runner.run(block, position, visit);
    this.#path.push({ key: keyOf(block), mark, blockhash: block.blockhash, rewards });
  }

  /** Removes all blocks of the path from an index on. */
  #rewindTo(position: number): void {
    const step = this.#path[position];
    if (step === undefined) return;
    this.#dependencies.world.cells.rewind(step.mark);
    this.#path.length = position;
  }

  /**
   * Returns the window of a block. A branch can leave the final chain before the last block of a window and continue after the window's
   * last slot. Its first block then still belongs to that window, and settles it.
   */
  #windowOf(block: ChainBlock): number {
    const windowAt = (slot: number): number => Math.floor(slot / this.windowSlots);
    const window = windowAt(block.slot);
    const before = windowAt(block.parentSlot);
    if (before === window) return window;
    const next = block.parent()?.nextSlot();
    return next !== undefined && windowAt(next) === before ? before : window;
  }
}

function keyOf({ branch, slot }: ChainBlock): string {
  return `${branch}/${slot}`;
}

function countWindowSlots({ transactionsPerBlock, votesPerBlock }: ContentOptions): number {
  const perBlock = Math.max(1, transactionsPerBlock + votesPerBlock / 3);
  let slots = WINDOW_SLOTS_MIN;
  while (slots < WINDOW_SLOTS_MAX && slots * perBlock < WINDOW_TRANSACTIONS) slots *= 2;
  return slots;
}
