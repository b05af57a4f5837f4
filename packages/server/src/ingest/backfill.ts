/**
 * History downwards from the first stored block to a slot, finalized blocks only, a whole segment at a time.
 *
 *   list (finalized) ─► load in parallel, highest first ─► each the parent of the one above ─► segment ─► visible
 *
 * Killed at any moment it goes on from the last whole segment. While one segment is written the next is fetched.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import { findBlockAtOrAfter } from '../chain/find-blocks.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { type DatasetLimits, datasetLimits } from '../dataset/dataset-limits.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { Refusal } from '../source/rpc-refusal.ts';
import type { BlockLoader, LoadedBlock } from './block-loader.ts';
import type { FollowedSource } from './followed-source.ts';
import { HistoryRun } from './history-run.ts';
import type { PreparedBlock } from './prepared-block.ts';

export interface BackfillOptions {
  /** The lowest slot that is wanted, inclusive. */
  readonly to: Slot;
  /** Whether a stop stores what came since the last whole segment, which takes a moment. */
  readonly storesOnStop: boolean;
  /** How long sources are asked in vain for one block before it is given up. */
  readonly patienceMs?: number;
  readonly limits?: Pick<DatasetLimits, 'sealBlockCount' | 'sealBytes'>;
}

export interface BackfillModules {
  readonly dataset: Dataset;
  readonly loader: BlockLoader;
  readonly clock: Clock;
  /** All sources that may be asked. */
  readonly sources: () => readonly FollowedSource[];
  /** A block was linked lower than any before: where it is, and how many bytes it takes. */
  readonly onBlock?: (slot: Slot, byteLength: number) => void;
}

const listSlots = 2_000;
const patienceMsDefault = 30_000;
/** Between rounds that brought nothing. */
const pauseMs = 250;

export class Backfill {
  readonly #options: BackfillOptions;
  readonly #modules: BackfillModules;
  readonly #run: HistoryRun;
  #storing: Promise<unknown> = Promise.resolve();
  #turn = 0;
  /** The lowest slot that was ever linked, and when. */
  #reached: Slot;
  #reachedMs: number;
  /** What the last one that was asked did wrong since then. */
  #fault = 'no source answers';
  /** Where those sources begin that no longer have the wanted block. */
  readonly #pruned = new Map<FollowedSource, Slot>();

  private constructor(options: BackfillOptions, modules: BackfillModules, first: BlockHeader) {
    this.#options = options;
    this.#modules = modules;
    this.#run = new HistoryRun(first);
    this.#reached = first.number;
    this.#reachedMs = modules.clock.nowMs();
  }

  /** Brings history down to the slot; throws where that cannot be, or when the signal aborts, with what came kept. */
  static async run(
    options: BackfillOptions,
    modules: BackfillModules,
    signal: AbortSignal,
  ): Promise<void> {
    // Every call under way listens for the end; how many there are is bounded elsewhere.
    setMaxListeners(0, signal);
    const first = await findFirst(modules.dataset);
    const backfill = new Backfill(options, modules, first);
    if (!backfill.#isDone && modules.dataset.snapshot().anchor?.hash === null) {
      throw new CodedError('backfill-anchor-unknown', { slot: first.number });
    }
    await backfill.#go(signal);
  }

  async #go(signal: AbortSignal): Promise<void> {
    let isWhole = false;
    try {
      while (!(await this.#isWhole(signal)) && !signal.aborted) await this.#round(signal);
      isWhole = this.#isDone;
      if (!isWhole) throw new CodedError('backfill-interrupted', { slot: this.#run.lowest.number });
    } catch (error) {
      // Where there is nothing older the lowest block is as good as the first one of any dataset.
      if (error instanceof CodedError && error.code === 'backfill-pruned') isWhole = true;
      throw error;
    } finally {
      if (!signal.aborted || this.#options.storesOnStop) await this.#store(isWhole);
      await this.#storing;
    }
  }

  get #isDone(): boolean {
    const { number, parentSlot } = this.#run.lowest;
    return number === 0 || parentSlot < this.#options.to;
  }

  /** Whether the slot is reached and nothing speaks against what the lowest block says of its parent. */
  async #isWhole(signal: AbortSignal): Promise<boolean> {
    const { lowest, blockCount } = this.#run;
    const source = this.#isDone ? this.#nextSource() : undefined;
    if (source === undefined || blockCount === 0 || lowest.number === 0) return this.#isDone;
    const parent = source.note(await source.node.header(lowest.parentSlot, 'finalized', signal));
    // Who no longer has it says nothing.
    if (parent.kind === 'refused' || parent.value.hash === lowest.parentHash) return true;
    this.#run.takeBack();
    const fault = `its block at slot ${lowest.parentSlot} is not the parent that slot ${lowest.number} names`;
    await this.#pause(`${source.name}: ${fault}`, signal);
    return false;
  }

  /** Loads downwards from one source until one block does not come or does not link. */
  async #round(signal: AbortSignal): Promise<void> {
    const source = this.#nextSource();
    // Those that may not be asked now did something to deserve it: that is what stands in the way.
    if (source === undefined) return this.#pause(this.#fault, signal);
    const slots = await this.#listBelow(source, signal);
    if (typeof slots === 'string') return this.#pause(`${source.name}: ${slots}`, signal);
    const { loader } = this.#modules;
    for await (const loaded of loader.loadAll(source, slots, 'finalized', signal)) {
      if (signal.aborted || this.#isDone) return;
      if (this.#isOmitted(loaded)) return;
      const fault = await this.#take(source, loaded, signal);
      if (fault !== undefined) return this.#pause(`${source.name}: ${fault}`, signal);
      if (loaded.kind === 'loaded') this.#noteReached(loaded.prepared);
      if (this.#isFull) await this.#store(false);
    }
  }

  /** A block that was taken back and came again is no step forward. */
  #noteReached({ header, bytes }: PreparedBlock): void {
    if (header.number >= this.#reached) return;
    this.#reached = header.number;
    this.#reachedMs = this.#modules.clock.nowMs();
    this.#pruned.clear();
    this.#modules.onBlock?.(header.number, bytes.byteLength);
  }

  /** The next one in turn that may be asked: whoever brought nothing is not asked again at once. */
  #nextSource(): FollowedSource | undefined {
    const ready = this.#modules.sources().filter(({ health }) => health.isReady);
    return ready[this.#turn % Math.max(1, ready.length)];
  }

  /** Slots with a block from the wanted parent down, or what is wrong. It comes first even if it is not listed: lists are hints. */
  async #listBelow(source: FollowedSource, signal: AbortSignal): Promise<Slot[] | string> {
    const last = this.#run.lowest.parentSlot;
    const first = Math.max(this.#options.to, last - listSlots + 1);
    const list = source.note(await source.node.listSlots({ first, last }, 'finalized', signal));
    if (list.kind === 'refused') return list.cause;
    return [last, ...list.value.filter((slot) => slot !== last).reverse()];
  }

  /** Whether a block below the wanted one came: the list left that one out, so the next round asks for it. */
  #isOmitted(loaded: LoadedBlock): boolean {
    const slot = loaded.kind === 'loaded' ? loaded.prepared.header.number : loaded.slot;
    return slot < this.#run.lowest.parentSlot;
  }

  /** Adds a block to the run; answers with what is wrong with it. */
  async #take(
    source: FollowedSource,
    loaded: LoadedBlock,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (loaded.kind === 'refused') return this.#noteRefusal(source, loaded.refusal, signal);
    if (loaded.kind === 'damaged') {
      source.health.strike(loaded.error.message);
      return loaded.error.message;
    }
    const { prepared } = loaded;
    const fault = this.#run.add(prepared);
    if (fault !== undefined) {
      // It may be false, or the one above it may name a false parent: both are fetched again, from the next in turn.
      source.health.strike(fault.message);
      this.#run.takeBack();
      return fault.message;
    }
    source.health.answered();
    source.health.praise();
    return undefined;
  }

  async #noteRefusal(
    source: FollowedSource,
    refusal: Refusal,
    signal: AbortSignal,
  ): Promise<string> {
    source.note(refusal);
    const slot = this.#run.lowest.parentSlot;
    if (!denials.has(refusal.reason)) return refusal.cause;
    const first = source.note(await source.node.firstAvailable(signal));
    if (first.kind === 'ok' && first.value > slot) {
      this.#pruned.set(source, first.value);
      return `it begins at slot ${first.value}`;
    }
    return `it denies slot ${slot}, which a block names as its parent`;
  }

  /** After a round that brought nothing. Gives up where no source has more, or none has brought anything for long. */
  async #pause(fault: string, signal: AbortSignal): Promise<void> {
    this.#turn++;
    this.#fault = fault;
    const { clock, sources } = this.#modules;
    const all = sources();
    const slot = this.#run.lowest.parentSlot;
    if (all.length > 0 && all.every((source) => this.#pruned.has(source))) {
      const firstAvailable = Math.min(...this.#pruned.values());
      throw new CodedError('backfill-pruned', { slot, firstAvailable });
    }
    if (clock.nowMs() - this.#reachedMs >= (this.#options.patienceMs ?? patienceMsDefault)) {
      throw new CodedError('backfill-stuck', { slot, fault });
    }
    await clock.sleep(pauseMs, signal);
  }

  get #isFull(): boolean {
    const { sealBlockCount, sealBytes } = this.#options.limits ?? datasetLimits;
    // The lowest stays behind.
    return this.#run.blockCount > sealBlockCount || this.#run.byteLength >= sealBytes;
  }

  /** Makes a segment of the run, after the one before it: its last block is then the anchor. */
  async #store(withLowest: boolean): Promise<void> {
    await this.#storing;
    const blocks = this.#run.take(withLowest);
    if (blocks.length === 0) return;
    const payloads = blocks.map(({ bytes }) => bytes);
    const headers = blocks.map(({ header }) => header);
    const storing = this.#modules.dataset.prependSealed(payloads, headers);
    // Looked at before the next one is stored, and in the end.
    storing.catch(() => undefined);
    this.#storing = storing;
  }
}

/** What a source answers that may no longer have a block. */
const denials: ReadonlySet<string> = new Set(['pruned', 'skipped-hint', 'not-available']);

async function findFirst(dataset: Dataset): Promise<BlockHeader> {
  const snapshot = dataset.snapshot();
  const { start, finalized } = snapshot;
  const first =
    start === null || finalized === null
      ? undefined
      : await findBlockAtOrAfter(snapshot, start, (segment) => dataset.readHeaders(segment));
  if (first === undefined) throw new CodedError('backfill-too-early');
  return first;
}
