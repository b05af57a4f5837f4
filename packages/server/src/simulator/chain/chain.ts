import { createHash } from 'node:crypto';
import { encodeBase58 } from '../../base/base58.ts';
import { Random } from '../../base/random.ts';
import type { BlockHash, Slot } from '../../ledger/primitives.ts';
import type { ChainBlock } from './chain-block.ts';
import { ChainCell, cellSlots, type Fork } from './chain-cell.ts';
import { type ChainOptions, parseChainOptions } from './chain-options.ts';

const confirmMsMin = 50;
const confirmMsSpan = 140;
/** Shorter slots shorten the wait for confirmation in proportion, so that a slot is confirmed before the next but one. */
const nominalSlotMs = 400;
/** How long after the loser's last block, in slots, a winner with a lower head takes over. */
const takeOverSlots = 0.3;
const finalityStepSlots = 4;
const finalityStepSplitProbability = 0.25;
// Callers ask for at most 500,000 slots at once; so many cells are then derived once each.
const cellCountMax = 64;
const unknownHash = '1'.repeat(32) as BlockHash;

/** Part of every hash. It must change whenever the content of blocks changes, so that new blocks are not taken for old ones. */
const LEDGER_VERSION = 'v3';

function hashName(name: readonly (string | number)[]): BlockHash {
  return encodeBase58(createHash('sha256').update(name.join('/')).digest()) as BlockHash;
}

/** The genesis hashes that earlier versions of the simulator gave the ledger of a seed. */
export function earlierGenesisHashes(seed: number): readonly BlockHash[] {
  return [hashName([seed, 'genesis']), hashName(['v2', seed, 'genesis'])];
}

/** One line of blocks: the final chain, or a branch that leaves it after some block and shares all below. */
export interface Branch {
  blockAt(slot: number): ChainBlock | undefined;
  hasBlock(slot: number): boolean;
  /** The highest block at or below the slot. */
  previousBlock(slot: number): Slot;
  /** The lowest block at or above the slot; the slot itself where the branch has ended. */
  nextBlock(slot: number): Slot;
}

/** What a node that sees everything at once knows at one instant. */
export interface ChainState {
  readonly processedSlot: Slot;
  readonly confirmedSlot: Slot;
  readonly finalizedSlot: Slot;
  /** Where the confirmed blocks are. */
  readonly branch: Branch;
  /** The one that newly processed blocks extend; it turns to a fork's winner before the confirmed one does. */
  readonly processedBranch: Branch;
}

/**
 * A ledger as a pure function of its options. Time is in milliseconds of the ledger: slot s is produced at s × slotMs,
 * confirmed a little later, and final some tens of slots later. Nothing is stored; any slot and any instant can be asked
 * for in any order.
 */
export class SimulatedChain implements Branch {
  readonly options: ChainOptions;
  readonly genesisHash: BlockHash;
  /** Where everything random of this chain grows from. */
  readonly random: Random;
  readonly #cells = new Map<number, ChainCell>();

  constructor(options: Partial<ChainOptions>) {
    this.options = parseChainOptions(options);
    this.random = Random.fromSeed(this.options.seed).fork('chain');
    this.genesisHash = this.hash('genesis');
  }

  /** The block of the chain that becomes final. */
  blockAt(slot: number): ChainBlock | undefined {
    if (!this.hasBlock(slot)) return undefined;
    const parentSlot = slot === 0 ? 0 : this.previousBlock(slot - 1);
    return this.build(
      { slot, branch: 0, height: this.height(slot) },
      { slot: parentSlot, branch: 0 },
      this,
    );
  }

  hasBlock(slot: number): boolean {
    return this.#cell(slot).hasBlock(slot);
  }

  previousBlock(slot: number): Slot {
    return this.#cell(slot).previousBlock(slot) as Slot;
  }

  nextBlock(slot: number): Slot {
    return this.#cell(slot).nextBlock(slot) as Slot;
  }

  height(slot: number): number {
    return this.#cell(slot).height(slot);
  }

  /** The forks that begin at slots from `first` to `last`. */
  *forks(first: number, last: number): Generator<Fork> {
    for (let slot = first; slot <= last; slot = this.#cell(slot).last + 1) {
      for (const fork of this.#cell(slot).forks) {
        if (fork.ancestor >= first && fork.ancestor <= last) yield fork;
      }
    }
  }

  processedAtMs(slot: number): number {
    return slot * this.options.slotMs;
  }

  confirmedAtMs(slot: number): number {
    const { slotMs } = this.options;
    const waitMs = confirmMsMin + confirmMsSpan * this.random.fork('confirm', slot).unit();
    return slot * slotMs + waitMs * Math.min(1, slotMs / nominalSlotMs);
  }

  stateAt(ms: number): ChainState {
    const processed = Math.floor(ms / this.options.slotMs);
    const reached = this.confirmedIndex(ms);
    const fork = this.#cell(Math.max(0, reached)).lastForkBelow(reached);
    const contest = fork !== undefined && reached < fork.decidedBy ? fork : undefined;
    const branch =
      contest !== undefined && ms < this.#lostAtMs(contest) ? this.#branch(contest) : this;
    const confirmedSlot = this.#confirmedSlot(reached, contest, branch);
    const processedBranch = this.#processedBranch(processed);
    return {
      processedSlot: processedBranch.previousBlock(processed),
      confirmedSlot,
      finalizedSlot: this.#finalizedSlot(
        reached,
        branch === this ? confirmedSlot : contest?.ancestor,
      ),
      branch,
      processedBranch,
    };
  }

  /** The highest slot whose time of confirmation has come, whether or not it has a block. */
  confirmedIndex(ms: number): number {
    const processed = Math.floor(ms / this.options.slotMs);
    return this.confirmedAtMs(processed) <= ms ? processed : Math.max(0, processed - 1);
  }

  /** The next instant at which `stateAt` may answer otherwise. */
  nextChangeMs(ms: number): number {
    const reached = this.confirmedIndex(ms);
    const nextSlotMs = this.processedAtMs(Math.floor(ms / this.options.slotMs) + 1);
    let next = Math.min(nextSlotMs, this.confirmedAtMs(reached + 1));
    const fork = this.#cell(reached).lastForkBelow(reached);
    if (fork?.lowersHead && reached < fork.decidedBy && this.#lostAtMs(fork) > ms) {
      next = Math.min(next, this.#lostAtMs(fork));
    }
    return next;
  }

  hash(...name: (string | number)[]): BlockHash {
    return hashName([LEDGER_VERSION, this.options.seed, ...name]);
  }

  build(
    place: { slot: number; branch: number; height: number },
    parent: { slot: number; branch: number },
    line: Branch,
  ): ChainBlock {
    const { slot, branch, height } = place;
    return {
      slot: slot as Slot,
      branch,
      parentSlot: parent.slot as Slot,
      blockhash: this.hash(branch, slot),
      previousBlockhash: slot === 0 ? unknownHash : this.hash(parent.branch, parent.slot),
      height,
      blockTime: this.blockTime(slot),
      parent: () => (slot === 0 ? undefined : line.blockAt(parent.slot)),
      nextSlot: () => line.nextBlock(slot + 1),
    };
  }

  blockTime(slot: number): number {
    const { startSlot, startSeconds, slotMs } = this.options;
    const seconds = (at: number) => Math.floor((at * slotMs) / 1000);
    return startSeconds - seconds(startSlot) + seconds(slot);
  }

  #confirmedSlot(reached: number, contest: Fork | undefined, branch: Branch): Slot {
    if (contest !== undefined && branch === this && contest.lowersHead) {
      // The winner has shown its blocks only up to just below the loser's last one.
      return this.previousBlock((contest.slots.at(-1) as Slot) - 1);
    }
    return branch.previousBlock(reached);
  }

  #processedBranch(processed: number): Branch {
    const fork = this.#cell(processed).lastForkBelow(processed);
    return fork !== undefined && processed < fork.decidedBy ? this.#branch(fork) : this;
  }

  #branch(fork: Fork): Branch {
    return new ForkBranch(this, fork);
  }

  /** When the losing blocks stop being confirmed. */
  #lostAtMs(fork: Fork): number {
    if (!fork.lowersHead) return this.confirmedAtMs(fork.decidedBy);
    const last = fork.slots.at(-1) as Slot;
    return this.confirmedAtMs(last) + takeOverSlots * this.options.slotMs;
  }

  #finalizedSlot(reached: number, limit: Slot | undefined): Slot {
    const stepped = this.#stepFloor(reached - this.options.finalityDistance);
    return this.previousBlock(Math.max(0, Math.min(stepped, limit ?? stepped)));
  }

  /** Finality moves by one to four slots at a time: the end of the last whole step at or below the slot. */
  #stepFloor(slot: number): number {
    const group = Math.floor(slot / finalityStepSlots);
    if (group < 0) return 0;
    const random = this.random.fork('finality', group);
    let floor = group * finalityStepSlots - 1;
    for (let at = group * finalityStepSlots; at <= slot; at++) {
      const isLast = at % finalityStepSlots === finalityStepSlots - 1;
      if (random.chance(finalityStepSplitProbability) || isLast) floor = at;
    }
    return floor;
  }

  #cell(slot: number): ChainCell {
    const index = Math.floor(slot / cellSlots);
    const known = this.#cells.get(index);
    if (known !== undefined) return known;
    if (this.#cells.size >= cellCountMax) this.#cells.clear();
    const cell = new ChainCell(this.options, this.random, index);
    this.#cells.set(index, cell);
    return cell;
  }
}

/** The losing side of a fork, with the shared chain below it. */
class ForkBranch implements Branch {
  readonly #chain: SimulatedChain;
  readonly #fork: Fork;

  constructor(chain: SimulatedChain, fork: Fork) {
    this.#chain = chain;
    this.#fork = fork;
  }

  hasBlock(slot: number): boolean {
    if (slot <= this.#fork.ancestor) return this.#chain.hasBlock(slot);
    return this.#fork.slots.includes(slot as Slot);
  }

  previousBlock(slot: number): Slot {
    const { ancestor, slots } = this.#fork;
    if (slot <= ancestor) return this.#chain.previousBlock(slot);
    return slots.findLast((at) => at <= slot) ?? ancestor;
  }

  blockAt(slot: number): ChainBlock | undefined {
    const { ancestor, slots, branch } = this.#fork;
    if (slot <= ancestor) return this.#chain.blockAt(slot);
    const index = slots.indexOf(slot as Slot);
    if (index < 0) return undefined;
    const height = this.#chain.height(ancestor) + 1 + index;
    const parent =
      index === 0 ? { slot: ancestor, branch: 0 } : { slot: slots[index - 1] as Slot, branch };
    return this.#chain.build({ slot, branch, height }, parent, this);
  }

  nextBlock(slot: number): Slot {
    const { ancestor, slots } = this.#fork;
    if (slot <= ancestor) return this.#chain.nextBlock(slot);
    return slots.find((at) => at >= slot) ?? (slot as Slot);
  }
}
