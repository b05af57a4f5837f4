import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import { Random } from '@sluice/base/random';
import {
  type BlockPosition,
  type Branch,
  type NewPosition,
  SideBranch,
  type Trunk,
} from './branch.ts';
import type { ChainBlock } from './chain-block.ts';
import { ChainCell, cellSlots, type Fork } from './chain-cell.ts';
import { type ChainOptions, parseChainOptions } from './chain-options.ts';

const confirmMsMin = 50;
const confirmMsSpan = 140;
/**
 * Shorter slots shorten the delay of confirmation in proportion, so that a slot is confirmed before the slot after the next one starts.
 */
const nominalSlotMs = 400;
/** The delay, in slots, from the last block of the losing branch until a winning branch with a lower head takes over. */
const takeOverSlots = 0.3;
const finalityStepSlots = 4;
const finalityStepSplitProbability = 0.25;
// A request covers at most 500,000 slots, which are fewer cells than this.
const cellCountMax = 64;
const hashCountMax = 64;
const unknownHash = '1'.repeat(32);

/** Part of every hash. It must change whenever the content of blocks changes, so that new blocks are not taken for old ones. */
const LEDGER_VERSION = 'v4';

function hashName(name: readonly (string | number)[]): string {
  return encodeBase58(createHash('sha256').update(name.join('/')).digest());
}

/** Returns the genesis hashes that earlier versions of the simulator gave the ledger of a seed. */
export function earlierGenesisHashes(seed: number): readonly string[] {
  const names = [[seed], ['v2', seed], ['v3', seed]];
  return names.map((name) => hashName([...name, 'genesis']));
}

/** The state of a node without any delay at one instant. */
export interface ChainState {
  readonly processedSlot: number;
  readonly confirmedSlot: number;
  readonly finalizedSlot: number;
  /** The branch of the confirmed blocks. */
  readonly branch: Branch;
  /** The branch that newly processed blocks extend. It changes to the winning branch of a fork before `branch` does. */
  readonly processedBranch: Branch;
}

/**
 * A ledger as a pure function of its options. Time is in milliseconds of the ledger: slot s is produced at s × slotMs, confirmed a little
 * later, and final some tens of slots later. Nothing is stored; any slot and any instant can be requested in any order.
 */
export class SimulatedChain implements Trunk {
  readonly options: ChainOptions;
  readonly genesisHash: string;
  /** The source of all random choices of this chain. */
  readonly random: Random;
  readonly #cells = new Map<number, ChainCell>();
  /** The hashes of blocks that were built lately. The hash of a block is needed again for its child. */
  readonly #hashes = new Map<string, string>();

  constructor(options: Partial<ChainOptions>) {
    this.options = parseChainOptions(options);
    this.random = Random.fromSeed(this.options.seed).fork('chain');
    this.genesisHash = this.hash('genesis');
  }

  /** Returns the block in this slot of the final chain; undefined if the slot is skipped. */
  blockAt(slot: number): ChainBlock | undefined {
    if (!this.hasBlock(slot)) return undefined;
    const parentSlot = slot === 0 ? 0 : this.previousBlock(slot - 1);
    const position = { slot, branch: 0, height: this.height(slot) };
    return this.build(position, { slot: parentSlot, branch: 0 }, this);
  }

  hasBlock(slot: number): boolean {
    return this.#cell(slot).hasBlock(slot);
  }

  previousBlock(slot: number): number {
    return this.#cell(slot).previousBlock(slot);
  }

  nextBlock(slot: number): number {
    return this.#cell(slot).nextBlock(slot);
  }

  height(slot: number): number {
    return this.#cell(slot).height(slot);
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
      contest !== undefined && ms < this.#lostAtMs(contest) ? new SideBranch(this, contest) : this;
    const confirmedSlot = this.#confirmedSlot(reached, contest, branch);
    const finalLimit = branch === this ? confirmedSlot : contest?.ancestor;
    const processedBranch = this.#processedBranch(processed);
    return {
      processedSlot: processedBranch.previousBlock(processed),
      confirmedSlot,
      finalizedSlot: this.#finalizedSlot(reached, finalLimit),
      branch,
      processedBranch,
    };
  }

  /** Returns the highest slot that is confirmed at a time, whether or not it has a block. */
  confirmedIndex(ms: number): number {
    const processed = Math.floor(ms / this.options.slotMs);
    return this.confirmedAtMs(processed) <= ms ? processed : Math.max(0, processed - 1);
  }

  /** Returns the next instant at which `stateAt` may change. */
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

  hash(...name: (string | number)[]): string {
    return hashName([LEDGER_VERSION, this.options.seed, ...name]);
  }

  build({ slot, branch, height }: NewPosition, parent: BlockPosition, line: Branch): ChainBlock {
    return {
      slot,
      branch,
      parentSlot: parent.slot,
      blockhash: this.#blockhash(branch, slot),
      previousBlockhash: slot === 0 ? unknownHash : this.#blockhash(parent.branch, parent.slot),
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

  #blockhash(branch: number, slot: number): string {
    const key = `${branch}/${slot}`;
    const known = this.#hashes.get(key);
    if (known !== undefined) return known;
    if (this.#hashes.size >= hashCountMax) this.#hashes.clear();
    const hash = this.hash(branch, slot);
    this.#hashes.set(key, hash);
    return hash;
  }

  #confirmedSlot(reached: number, contest: Fork | undefined, branch: Branch): number {
    if (contest !== undefined && branch === this && contest.lowersHead) {
      // The blocks of the winning branch are visible only up to just below the last block of the losing one.
      return this.previousBlock(elementAt(contest.slots, -1) - 1);
    }
    return branch.previousBlock(reached);
  }

  #processedBranch(processed: number): Branch {
    const fork = this.#cell(processed).lastForkBelow(processed);
    return fork !== undefined && processed < fork.decidedBy ? new SideBranch(this, fork) : this;
  }

  /** Returns the time at which the blocks of the losing branch stop being confirmed. */
  #lostAtMs(fork: Fork): number {
    if (!fork.lowersHead) return this.confirmedAtMs(fork.decidedBy);
    const last = elementAt(fork.slots, -1);
    return this.confirmedAtMs(last) + takeOverSlots * this.options.slotMs;
  }

  #finalizedSlot(reached: number, limit: number | undefined): number {
    const stepped = this.#stepFloor(reached - this.options.finalityDistance);
    return this.previousBlock(Math.max(0, Math.min(stepped, limit ?? stepped)));
  }

  /** Finality advances by one to four slots at a time. Returns the end of the last complete step at or below the slot. */
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
