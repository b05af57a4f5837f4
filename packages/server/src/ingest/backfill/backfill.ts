/**
 * Loads history from the first stored block down to a slot. It loads finalized blocks only and stores a whole segment at a time.
 *
 *   list finalized slots ─► load in parallel, highest first ─► link to the block above ─► segment ─► visible
 *   another Sluice with a segment that ends below ─► copy it ─► checksum, links ─► visible
 *
 * If the process is killed, the next run continues below the last whole segment. While a segment is written, the next one is
 * loaded.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { Refusal } from '@sluice/source/refusal';
import type { OfferedSegment } from '@sluice/source/source';
import { findBlockAtOrAfter } from '../../chain/find-blocks.ts';
import { checkLink } from '../../chain/link-block.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { type DatasetLimits, datasetLimits } from '../../dataset/dataset-limits.ts';
import { type BuiltSegment, SegmentBuffer } from '../../dataset/merge/built-segment.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import type { BlockLoader, LoadedBlock } from '../follow/block-loader.ts';
import type { FollowedSource } from '../follow/followed-source.ts';
import { HistoryRun } from './history-run.ts';

export interface BackfillOptions {
  /** The lowest slot to load, inclusive. */
  readonly to: Slot;
  /** Whether a stop stores the blocks since the last whole segment, which takes a moment. */
  readonly storesOnStop: boolean;
  /** The backfill fails after it has not loaded any block for this time. */
  readonly patienceMs?: number;
  readonly limits?: Pick<DatasetLimits, 'sealBlockCount' | 'sealBytes'>;
}

export interface BackfillDependencies {
  readonly dataset: Dataset;
  readonly loader: BlockLoader;
  readonly clock: Clock;
  readonly sources: () => readonly FollowedSource[];
  /** Called for each block that is lower than all before. */
  readonly onBlock?: (slot: Slot, byteLength: number) => void;
}

const listSlots = 2_000;
const patienceMsDefault = 30_000;
/** The wait after a round without a block. */
const pauseMs = 250;

export class Backfill {
  readonly #options: BackfillOptions;
  readonly #dependencies: BackfillDependencies;
  readonly #run: HistoryRun;
  #storing: Promise<unknown> = Promise.resolve();
  #turn = 0;
  /** The lowest slot that was linked so far, and when. */
  #reached: Slot;
  #reachedMs: number;
  /** The last fault of a source since then. */
  #fault = 'no source answers';
  /** The first slots of the sources that no longer have the next block. */
  readonly #pruned = new Map<FollowedSource, Slot>();
  /** Sources whose segments cannot be copied. */
  readonly #uncopied = new Set<FollowedSource>();

  private constructor(
    options: BackfillOptions,
    dependencies: BackfillDependencies,
    first: BlockHeader,
  ) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#run = new HistoryRun(first);
    this.#reached = first.number;
    this.#reachedMs = dependencies.clock.nowMs();
  }

  /** Loads history down to the slot. Throws if that is impossible or the signal aborts; stored segments are kept. */
  static async run(
    options: BackfillOptions,
    dependencies: BackfillDependencies,
    signal: AbortSignal,
  ): Promise<void> {
    // Every open request listens to the signal. Their number is limited elsewhere.
    setMaxListeners(0, signal);
    const first = await findFirst(dependencies.dataset);
    const backfill = new Backfill(options, dependencies, first);
    if (!backfill.#isDone && dependencies.dataset.snapshot().anchor?.hash === null) {
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
      // If no source has older blocks, the lowest block becomes the first block of the dataset.
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

  /** Returns whether the slot is reached and no source contradicts the parent hash of the lowest block. */
  async #isWhole(signal: AbortSignal): Promise<boolean> {
    const { lowest, blockCount } = this.#run;
    const source = this.#isDone ? this.#nextSource() : undefined;
    if (source === undefined || blockCount === 0 || lowest.number === 0) return this.#isDone;
    const parent = source.note(await source.remote.header(lowest.parentSlot, 'finalized', signal));
    // A source that no longer has the parent cannot contradict.
    if (parent.kind === 'refused') return true;
    this.#run.completeLowest(parent.value);
    if (parent.value.hash === this.#run.lowest.parentHash) return true;
    this.#run.takeBack();
    const fault = `its block at slot ${lowest.parentSlot} is not the parent that slot ${lowest.number} names`;
    await this.#pause(`${source.name}: ${fault}`, signal);
    return false;
  }

  /** Loads blocks from one source until one cannot be loaded or linked. */
  async #round(signal: AbortSignal): Promise<void> {
    const source = this.#nextSource();
    // Sources that are not ready have failed before, so the last fault is the reason.
    if (source === undefined) return this.#pause(this.#fault, signal);
    const segment = await this.#findSegment(source, signal);
    const { parentSlot } = this.#run.lowest;
    if (segment?.last === parentSlot && segment.first >= this.#options.to)
      return this.#copy(source, segment, signal);
    // Blocks are loaded only down to the next segment, which can be copied.
    const isInside = segment !== undefined && segment.last >= parentSlot;
    const end = isInside ? segment.first : (segment?.last ?? -1) + 1;
    const slots = await this.#listBelow(source, end, signal);
    if (typeof slots === 'string') return this.#pause(`${source.name}: ${slots}`, signal);
    const { loader } = this.#dependencies;
    for await (const loaded of loader.loadAll(source, slots, 'finalized', signal)) {
      if (signal.aborted || this.#isDone) return;
      if (this.#isOmitted(loaded)) return;
      const fault = await this.#take(source, loaded, signal);
      if (fault !== undefined) return this.#pause(`${source.name}: ${fault}`, signal);
      if (loaded.kind === 'loaded') {
        const { header, bytes } = loaded.prepared;
        this.#noteReached(header.number, bytes.byteLength);
      }
      if (this.#isFull) await this.#store(false);
    }
  }

  /** Returns the segment of the source that contains the next parent, or the next one below it. */
  async #findSegment(
    source: FollowedSource,
    signal: AbortSignal,
  ): Promise<OfferedSegment | undefined> {
    if (this.#uncopied.has(source)) return undefined;
    const found = await source.remote.findSegment?.(this.#run.lowest.parentSlot, signal);
    if (found?.kind === 'ok') return found.value;
    // An older Sluice has no such list. A source that fails is noticed by the requests for blocks.
    if (found?.reason === 'incapable') this.#uncopied.add(source);
    return undefined;
  }

  /** Copies a segment whose last block is the next parent. If that fails, its blocks are loaded one by one. */
  async #copy(source: FollowedSource, segment: OfferedSegment, signal: AbortSignal): Promise<void> {
    const content = await source.remote.readSegment?.(segment, signal);
    if (content?.kind !== 'ok') {
      if (content !== undefined) source.note(content);
      if (content?.reason === 'malformed') this.#uncopied.add(source);
      return this.#pause(`${source.name}: ${content?.cause ?? 'no segment'}`, signal);
    }
    const copied = openCopied(content.value, this.#run);
    if (isCodedError(copied)) {
      this.#uncopied.add(source);
      source.health.strike(copied.message);
      return this.#pause(`${source.name}: ${copied.message}`, signal);
    }
    source.health.responded();
    const { built, headers } = copied;
    await this.#store(true);
    await this.#storing;
    await this.#dependencies.dataset.prependBuilt(built, headers);
    this.#run.continueBelow(elementAt(headers, 0));
    const byteLength = Math.round(built.byteLength / headers.length);
    for (const { number } of headers.toReversed()) this.#noteReached(number, byteLength);
  }

  /** Records progress. A block that was removed and loaded again does not count. */
  #noteReached(slot: Slot, byteLength: number): void {
    if (slot >= this.#reached) return;
    this.#reached = slot;
    this.#reachedMs = this.#dependencies.clock.nowMs();
    this.#pruned.clear();
    this.#dependencies.onBlock?.(slot, byteLength);
  }

  /** Returns the ready sources in turn, so that a source that failed is not asked again at once. */
  #nextSource(): FollowedSource | undefined {
    const ready = this.#dependencies.sources().filter(({ health }) => health.isReady);
    return ready[this.#turn % Math.max(1, ready.length)];
  }

  /**
   * Returns the slots with a block from the next parent down, or the fault as text. The parent is included even if it is not in
   * the list, because lists can be incomplete.
   */
  async #listBelow(
    source: FollowedSource,
    end: number,
    signal: AbortSignal,
  ): Promise<Slot[] | string> {
    const last = this.#run.lowest.parentSlot;
    const first = Math.max(this.#options.to, last - listSlots + 1, end);
    let list = source.note(await source.remote.listSlots({ first, last }, 'finalized', signal));
    if (list.kind === 'refused' && list.reason === 'pruned') {
      // A portal refuses a range that begins below its first block.
      const available = source.note(await source.remote.firstAvailable(signal));
      if (available.kind === 'refused') return available.cause;
      if (available.value > last) return this.#notePruned(source, available.value);
      const rest = { first: available.value, last };
      list = source.note(await source.remote.listSlots(rest, 'finalized', signal));
    }
    if (list.kind === 'refused') return list.cause;
    return [last, ...list.value.filter((slot) => slot !== last).reverse()];
  }

  #notePruned(source: FollowedSource, firstAvailable: Slot): string {
    this.#pruned.set(source, firstAvailable);
    return `it begins at slot ${firstAvailable}`;
  }

  /** Returns whether the block is below the next parent. The list omitted the parent then, and the next round requests it. */
  #isOmitted(loaded: LoadedBlock): boolean {
    const slot = loaded.kind === 'loaded' ? loaded.prepared.header.number : loaded.slot;
    return slot !== undefined && slot < this.#run.lowest.parentSlot;
  }

  /** Adds a block to the run. Returns the fault as text if it does not link. */
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
      // The block may be wrong, or the parent hash of the block above it. Both are loaded again, from the next source.
      source.health.strike(fault.message);
      this.#run.takeBack();
      return fault.message;
    }
    source.health.responded();
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
    const first = source.note(await source.remote.firstAvailable(signal));
    if (first.kind === 'ok' && first.value > slot) return this.#notePruned(source, first.value);
    return `it reports no block at slot ${slot}, which a block names as its parent`;
  }

  /** Waits after a round without a block. Throws if no source has older blocks, or if there was no progress for long. */
  async #pause(fault: string, signal: AbortSignal): Promise<void> {
    this.#turn++;
    this.#fault = fault;
    const { clock, sources } = this.#dependencies;
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
    // The lowest block is not stored yet.
    return this.#run.blockCount > sealBlockCount || this.#run.byteLength >= sealBytes;
  }

  /** Stores the run as a segment, after the previous one is stored. */
  async #store(withLowest: boolean): Promise<void> {
    await this.#storing;
    const blocks = this.#run.take(withLowest);
    if (blocks.length === 0) return;
    const payloads = blocks.map(({ bytes }) => bytes);
    const headers = blocks.map(({ header }) => header);
    const storing = this.#dependencies.dataset.prependSealed(payloads, headers);
    // The result is awaited before the next segment is stored, and at the end.
    storing.catch(() => undefined);
    this.#storing = storing;
  }
}

/** Opens a copied segment. Returns the error if its blocks do not link to each other and to the block above. */
function openCopied(
  parts: readonly Uint8Array[],
  run: HistoryRun,
): { readonly built: BuiltSegment; readonly headers: readonly BlockHeader[] } | CodedError {
  try {
    const buffer = new SegmentBuffer();
    for (const part of parts) buffer.append(part);
    const headers = openSegment(buffer).headers.toArray();
    run.completeLowest(elementAt(headers, -1));
    headers.forEach((header, i) => {
      checkLink(header, headers[i + 1] ?? run.lowest);
    });
    return { built: buffer.finish(), headers };
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
}

/** The refusals of a source that may no longer have a block. */
const denials: ReadonlySet<string> = new Set(['pruned', 'skipped-hint', 'not-available']);

async function findFirst(dataset: Dataset): Promise<BlockHeader> {
  const snapshot = dataset.snapshot();
  const { start, finalized } = snapshot;
  const first =
    start === null || finalized === null
      ? undefined
      : await findBlockAtOrAfter(snapshot, start, dataset);
  if (first === undefined) throw new CodedError('backfill-too-early');
  return first;
}
