import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import type { Random } from '@sluice/base/random';
import type { ChainOptions } from './chain-options.ts';

/**
 * The shape of the chain. It is derived in cells of 16,384 slots, in any order:
 *
 *   slot   first                                                        last
 *          B B B . . B B B B B B B . B B B B B B B B B B B . . . . B B B B
 *                ^run                ^ancestor       ^last             ^ no run or fork crosses a cell
 *                                      f f   f f       fork: blocks that are confirmed first and replaced later
 *
 * The number of skipped slots in all earlier cells has a closed form, so a height can be computed without visiting them.
 */
export const cellSlots = 16_384;

const skipRunMax = 4;
const forkStopProbability = 0.6;
const sameSlotsProbability = 0.6;
const lowersHeadProbability = 0.25;

/** Blocks that were confirmed for a while and then replaced by the chain that becomes final. */
export interface Fork {
  /** The last block that both branches share. */
  readonly ancestor: number;
  readonly branch: number;
  /** The slots of the replaced blocks, ascending. */
  readonly slots: readonly number[];
  /** The first block of the winning branch above the replaced blocks. It ends the fork. */
  readonly decidedBy: number;
  /** Whether the winning branch takes over while its head is at a lower slot than the head of the losing one. */
  readonly lowersHead: boolean;
}

export class ChainCell {
  readonly first: number;
  readonly #options: ChainOptions;
  readonly #skippedBefore: number;
  readonly #runStarts: readonly number[];
  /** The number of skipped slots of this cell up to and including run i. */
  readonly #skippedThrough: readonly number[];
  readonly forks: readonly Fork[];

  constructor(options: ChainOptions, random: Random, index: number) {
    this.#options = options;
    this.first = index * cellSlots;
    this.#skippedBefore = skippedBeforeCell(options.skipRate, random, index);
    const skipped = skippedBeforeCell(options.skipRate, random, index + 1) - this.#skippedBefore;
    [this.#runStarts, this.#skippedThrough] = distributeRuns(random.fork('runs', index), skipped);
    this.forks = this.#deriveForks(random.fork('forks', index));
  }

  get last(): number {
    return this.first + cellSlots - 1;
  }

  hasBlock(slot: number): boolean {
    return this.previousBlock(slot) === slot;
  }

  /** Returns the slot of the highest block at or below the slot. A cell starts with a block, so there always is one. */
  previousBlock(slot: number): number {
    const offset = slot - this.first;
    const run = this.#runAtOrBefore(offset);
    if (run < 0) return slot;
    const start = elementAt(this.#runStarts, run);
    return offset < start + this.#runLength(run) ? this.first + start - 1 : slot;
  }

  /** Returns the slot of the lowest block at or above the slot. A cell ends with a block, so there always is one. */
  nextBlock(slot: number): number {
    const offset = slot - this.first;
    const run = this.#runAtOrBefore(offset);
    if (run < 0) return slot;
    const end = elementAt(this.#runStarts, run) + this.#runLength(run);
    return offset < end ? this.first + end : slot;
  }

  height(slot: number): number {
    const run = this.#runAtOrBefore(slot - this.first);
    const skippedHere = run < 0 ? 0 : elementAt(this.#skippedThrough, run);
    return slot - this.#skippedBefore - skippedHere;
  }

  /** Returns the fork with the highest ancestor below the slot, whether it has ended or not. */
  lastForkBelow(slot: number): Fork | undefined {
    const index = countBelow(this.forks.length, (at) => elementAt(this.forks, at).ancestor < slot);
    return this.forks[index - 1];
  }

  #runAtOrBefore(offset: number): number {
    return countBelow(this.#runStarts.length, (at) => elementAt(this.#runStarts, at) <= offset) - 1;
  }

  #runLength(run: number): number {
    const through = elementAt(this.#skippedThrough, run);
    return run === 0 ? through : through - elementAt(this.#skippedThrough, run - 1);
  }

  #deriveForks(random: Random): Fork[] {
    const { forkRate } = this.#options;
    const forks: Fork[] = [];
    if (forkRate === 0) return forks;
    let start = this.first - 1;
    let free = this.first;
    for (;;) {
      start = Math.max(start + firstSuccess(random, forkRate, cellSlots), free);
      if (start >= this.last) return forks;
      const fork = this.#deriveFork(this.nextBlock(start), random);
      if (fork === undefined) return forks;
      forks.push(fork);
      free = fork.decidedBy;
    }
  }

  #deriveFork(ancestor: number, random: Random): Fork | undefined {
    const depth = firstSuccess(random, forkStopProbability, this.#options.forkDepthMax);
    const sameSlots = random.chance(sameSlotsProbability);
    const lowersHead = random.chance(lowersHeadProbability);
    const slots: number[] = [];
    let slot = ancestor;
    for (let count = 0; count < depth; count++) {
      slot += 1;
      if (!sameSlots && random.chance(0.3)) slot += 1 + random.below(3);
      if (slot >= this.last) return undefined;
      if (sameSlots) slot = this.nextBlock(slot);
      if (slot >= this.last) return undefined;
      slots.push(slot);
    }
    const decidedBy = this.nextBlock(slot + 1);
    return { ancestor, branch: ancestor + 1, slots, decidedBy, lowersHead };
  }
}

/** Returns the number of skipped slots before a cell: proportional to its index, plus a random deviation. */
function skippedBeforeCell(skipRate: number, random: Random, index: number): number {
  if (index === 0) return 0;
  const perCell = cellSlots * skipRate;
  const jitter = Math.min(perCell, Math.sqrt(perCell)) * random.fork('skips', index).unit();
  return Math.floor(index * perCell + jitter);
}

function distributeRuns(random: Random, skipped: number): [number[], number[]] {
  const lengths: number[] = [];
  for (let left = skipped; left > 0; left -= elementAt(lengths, -1)) {
    lengths.push(Math.min(left, 1 + random.below(skipRunMax)));
  }
  const blocks = cellSlots - skipped;
  assert(lengths.length < blocks, 'every run of skips has a block before and after it');
  const afterBlocks = drawDistinct(random, lengths.length, blocks - 1);
  const starts: number[] = [];
  const through: number[] = [];
  let sum = 0;
  for (const [at, length] of lengths.entries()) {
    starts.push(elementAt(afterBlocks, at) + 1 + sum);
    sum += length;
    through.push(sum);
  }
  return [starts, through];
}

/** Returns `count` different integers of [0, end), ascending. */
function drawDistinct(random: Random, count: number, end: number): number[] {
  const drawn = new Set<number>();
  for (let top = end - count; top < end; top++) {
    const value = random.below(top + 1);
    drawn.add(drawn.has(value) ? top : value);
  }
  return [...drawn].sort((a, b) => a - b);
}

/** Returns the number of the first successful trial, at most `max`. Uses trials, because logarithms differ between JavaScript engines. */
function firstSuccess(random: Random, probability: number, max: number): number {
  let tries = 1;
  while (tries < max && !random.chance(probability)) tries += 1;
  return tries;
}

/** Returns how many of the first `length` indexes satisfy a condition that holds only for a prefix. */
function countBelow(length: number, holds: (index: number) => boolean): number {
  let first = 0;
  let end = length;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (holds(middle)) first = middle + 1;
    else end = middle;
  }
  return first;
}
