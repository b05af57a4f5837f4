/** Loads and prepares blocks in parallel, returns them in order, and limits the memory that they use. */
import { CodedError, isCodedError } from '@sluice/base/errors';
import { mapOrdered } from '@sluice/base/map-ordered';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import { type Refusal, refusal } from '@sluice/source/refusal';
import {
  type BlockFormat,
  type Commitment,
  headTimeoutMs,
  historyTimeoutMs,
  type StreamedBlock,
} from '@sluice/source/source';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import type { FollowedSource } from './followed-source.ts';

export type PrepareBlock = (
  slot: Slot,
  bytes: Uint8Array,
  format: BlockFormat,
) => Promise<PreparedBlock>;

export type LoadedBlock =
  | { readonly kind: 'loaded'; readonly prepared: PreparedBlock }
  /** The source did not deliver the block. */
  | { readonly kind: 'refused'; readonly slot: Slot; readonly refusal: Refusal }
  /** The source delivered bytes that are not a valid block; `slot` is undefined if the bytes contain none. */
  | { readonly kind: 'damaged'; readonly slot: Slot | undefined; readonly error: CodedError };

/** Limits of the blocks that are loaded at the same time. A block needs several times its bytes while it is prepared. */
const inProgressCountMax = 16;
const inProgressBytesMax = 96 * 1024 * 1024;
/** The blocks of one request to a source that sends several, and how many such requests are in progress. */
const runBlockCount = 32;
const runsInProgressMax = 2;

export class BlockLoader {
  readonly #prepare: PrepareBlock;
  readonly #countMax: number;
  /** The moving average of the size of a block. */
  #blockBytes = 256 * 1024;

  constructor(prepare: PrepareBlock, countMax = inProgressCountMax) {
    this.#prepare = prepare;
    this.#countMax = countMax;
  }

  async load(
    source: FollowedSource,
    slot: Slot,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<LoadedBlock> {
    const timeoutMs = commitment === 'finalized' ? historyTimeoutMs : headTimeoutMs;
    const result = await source.remote.block(slot, commitment, { timeoutMs, signal });
    if (result.kind === 'refused') return { kind: 'refused', slot, refusal: result };
    const loaded = await this.#read(slot, result.value, source.remote.format);
    source.remote.giveBack(result.value);
    return loaded;
  }

  /** Loads the blocks of these slots in order, which is ascending or descending. */
  loadAll(
    source: FollowedSource,
    slots: readonly Slot[],
    commitment: Commitment,
    signal: AbortSignal,
  ): AsyncGenerator<LoadedBlock> {
    if (source.remote.readBlocks !== undefined)
      return this.#loadRuns(source, slots, commitment, signal);
    return mapOrdered(
      slots,
      () => this.#limit(),
      (slot) => this.load(source, slot, commitment, signal),
    );
  }

  /** Loads the blocks of these slots in runs, each by one request if possible. */
  async *#loadRuns(
    source: FollowedSource,
    slots: readonly Slot[],
    commitment: Commitment,
    signal: AbortSignal,
  ): AsyncGenerator<LoadedBlock> {
    const runs: Slot[][] = [];
    for (let start = 0; start < slots.length; start += runBlockCount) {
      runs.push(slots.slice(start, start + runBlockCount));
    }
    const loading = mapOrdered(
      runs,
      () => runsInProgressMax,
      async (run) => {
        const loaded = await this.#loadRun(source, run, commitment, signal);
        return run.map((slot) => loaded.get(slot) ?? missing(slot, loaded));
      },
    );
    for await (const run of loading) yield* run;
  }

  /** Loads a run with as many requests as the source needs for it. The failure of the last one has the key `undefined`. */
  async #loadRun(
    source: FollowedSource,
    run: readonly Slot[],
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<Map<Slot | undefined, LoadedBlock>> {
    const loaded = new Map<Slot | undefined, LoadedBlock>();
    const last = Math.max(...run);
    for (let first = Math.min(...run), isDone = false; !isDone; ) {
      const result = await source.remote.readBlocks?.({ first, last }, commitment, signal);
      if (result?.kind !== 'ok') {
        if (result !== undefined)
          loaded.set(undefined, { kind: 'refused', slot: toSlot(first), refusal: result });
        return loaded;
      }
      isDone = true;
      for await (const block of this.loadStream(result.value, source.remote.format)) {
        const slot = block.kind === 'loaded' ? block.prepared.header.number : block.slot;
        loaded.set(slot, block);
        // A source may end a response early. The rest is requested then.
        if (slot !== undefined && slot >= first) [first, isDone] = [slot + 1, slot >= last];
      }
      const { fault } = result.value;
      if (fault !== undefined)
        loaded.set(undefined, { kind: 'refused', slot: toSlot(first), refusal: fault });
      if (fault !== undefined) return loaded;
    }
    return loaded;
  }

  /** Prepares the blocks of a stream in order. */
  loadStream(
    blocks: AsyncIterable<StreamedBlock>,
    format: BlockFormat,
  ): AsyncGenerator<LoadedBlock> {
    return mapOrdered(
      blocks,
      () => this.#limit(),
      ({ slot, bytes }) => {
        if (slot !== undefined) return this.#read(slot, bytes, format);
        const error = new CodedError('block-field-missing', { field: 'header.number' });
        return Promise.resolve({ kind: 'damaged', slot, error });
      },
    );
  }

  #limit(): number {
    const byBytes = Math.floor(inProgressBytesMax / Math.max(1, this.#blockBytes));
    return Math.min(this.#countMax, byBytes);
  }

  async #read(slot: Slot, bytes: Uint8Array, format: BlockFormat): Promise<LoadedBlock> {
    this.#blockBytes += (bytes.byteLength - this.#blockBytes) / 8;
    try {
      return { kind: 'loaded', prepared: await this.#prepare(slot, bytes, format) };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return { kind: 'damaged', slot, error };
    }
  }
}

/** Returns why a block of a run is not there: the failure that ended the run, or that the source does not have it. */
function missing(slot: Slot, loaded: ReadonlyMap<Slot | undefined, LoadedBlock>): LoadedBlock {
  const failure = loaded.get(undefined);
  if (failure?.kind === 'refused') return { ...failure, slot };
  if (failure !== undefined) return failure;
  return {
    kind: 'refused',
    slot,
    refusal: refusal('skipped-hint', 'the source has no block at the slot'),
  };
}
