/**
 * Moves the world along the chain. Time is cut into windows; every window begins with the same state, so a block anywhere costs
 * no more than running its window up to it. Within a window the journal of the world leads back to any block that was run.
 *
 *   window w      1000 ─ 1001 ─ 1002 ─ 1003 ─ …          the path that the world has run: key and journal mark of each block
 *                           └── 1002' ─ 1003'            a branch: rewind to 1001, run the blocks of the branch
 */
import type { ChainBlock } from '../chain-block.ts';
import type { AddressBook } from './address-book.ts';
import type { ContentOptions } from './content-options.ts';
import { type RewardPrinter, voteLamports } from './rewards.ts';
import type { BlockRunner, VisitTransaction } from './run-block.ts';
import type { SimulatedReward } from './simulated-block.ts';
import type { World } from './world/world.ts';

/** Windows have about so many transactions, a vote counted as a third. */
const WINDOW_TRANSACTIONS = 1 << 14;
const WINDOW_SLOTS_MIN = 32;
const WINDOW_SLOTS_MAX = 2048;
const NO_WINDOW = -1;

interface Step {
  readonly key: string;
  /** The journal's end before the block. */
  readonly mark: number;
  readonly blockhash: string;
  readonly rewards: readonly SimulatedReward[];
}

export class Timeline {
  readonly windowSlots: number;
  readonly #options: ContentOptions;
  readonly #runner: BlockRunner;
  readonly #rewards: RewardPrinter;
  readonly #world: World;
  readonly #book: AddressBook;
  /** The blocks that the world has run since the window began, and where each stands. */
  readonly #path: Step[] = [];
  readonly #places = new Map<string, number>();
  #window = NO_WINDOW;
  /** Rewards that were paid before the first block of the window follow from its parent. */
  #parentSlot = -1;

  constructor(
    options: ContentOptions,
    modules: { runner: BlockRunner; rewards: RewardPrinter; world: World; book: AddressBook },
  ) {
    this.#options = options;
    this.#runner = modules.runner;
    this.#rewards = modules.rewards;
    this.#world = modules.world;
    this.#book = modules.book;
    this.windowSlots = countWindowSlots(options);
  }

  /** Runs a block and leaves the world as it was after it. */
  run(block: ChainBlock, visit: VisitTransaction | null): void {
    this.#goBefore(block);
    this.#runOne(block, visit);
  }

  rewardsOf(block: ChainBlock): readonly SimulatedReward[] {
    const place = this.#find(block);
    if (place === undefined) this.run(block, null);
    const { rewards } = this.#path[place ?? this.#path.length - 1] as Step;
    return [...rewards, ...this.#rewards.outside(block)];
  }

  #find(block: ChainBlock): number | undefined {
    return this.#windowOf(block) === this.#window ? this.#places.get(keyOf(block)) : undefined;
  }

  /** Brings the world to the state after the block's parent, or of the window's start if the parent is in another one. */
  #goBefore(block: ChainBlock): void {
    const missing: ChainBlock[] = [];
    let ancestor = block.parent();
    let first = block;
    while (ancestor !== undefined && this.#windowOf(ancestor) === this.#windowOf(block)) {
      const place = this.#find(ancestor);
      if (place !== undefined) {
        this.#rewindTo(place + 1);
        for (const one of missing.reverse()) this.#runOne(one, null);
        return;
      }
      missing.push(ancestor);
      first = ancestor;
      ancestor = ancestor.parent();
    }
    this.#enterWindow(this.#windowOf(block), first);
    for (const one of missing.reverse()) this.#runOne(one, null);
  }

  #enterWindow(window: number, first: ChainBlock): void {
    this.#rewindTo(0);
    const parentSlot = first.slot === 0 ? -1 : first.parentSlot;
    if (window === this.#window && parentSlot === this.#parentSlot) return;
    this.#window = window;
    this.#parentSlot = parentSlot;
    this.#book.enterWindow(window);
    const { voteAccounts, validatorCount, cells, start } = this.#world;
    for (let i = 0; i < validatorCount; i++) {
      const lamports = voteLamports(this.#options, i, parentSlot + 1);
      cells.values[voteAccounts + i] = lamports;
      start[voteAccounts + i] = lamports;
    }
  }

  #runOne(block: ChainBlock, visit: VisitTransaction | null): void {
    const { mark } = this.#world.cells;
    const key = keyOf(block);
    const isLast = Math.floor(block.nextSlot() / this.windowSlots) > this.#window;
    const left = (this.#window + 1) * this.windowSlots - block.slot;
    const place = { isLast, slotsLeft: left, windowSlots: this.windowSlots };
    const hashes = this.#path.slice(-RECENT_COUNT).map((step) => step.blockhash);
    const rewards = this.#runner.run(block, { ...place, hashes }, visit);
    this.#places.set(key, this.#path.length);
    this.#path.push({ key, mark, blockhash: block.blockhash, rewards });
  }

  /** Forgets all blocks of the path from a place on. */
  #rewindTo(place: number): void {
    const step = this.#path[place];
    if (step === undefined) return;
    this.#world.cells.rewind(step.mark);
    for (const { key } of this.#path.splice(place)) this.#places.delete(key);
  }

  #windowOf(block: ChainBlock): number {
    return Math.floor(block.slot / this.windowSlots);
  }
}

/** Blocks whose hash a transaction may name. */
const RECENT_COUNT = 20;

function keyOf({ branch, slot }: ChainBlock): string {
  return `${branch}/${slot}`;
}

function countWindowSlots({ transactionsPerBlock, votesPerBlock }: ContentOptions): number {
  const perBlock = Math.max(1, transactionsPerBlock + votesPerBlock / 3);
  let slots = WINDOW_SLOTS_MIN;
  while (slots < WINDOW_SLOTS_MAX && slots * perBlock < WINDOW_TRANSACTIONS) slots *= 2;
  return slots;
}
