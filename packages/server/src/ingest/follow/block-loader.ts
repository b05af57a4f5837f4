/** Loads and prepares blocks in parallel, returns them in order, and limits the memory that they use. */
import { CodedError, isCodedError } from '@sluice/base/errors';
import { mapOrdered } from '@sluice/base/map-ordered';
import type { Slot } from '../../ledger/primitives.ts';
import type { Refusal } from '../../source/refusal.ts';
import {
  type BlockFormat,
  type Commitment,
  headTimeoutMs,
  historyTimeoutMs,
  type StreamedBlock,
} from '../../source/source.ts';
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
    const answer = await source.remote.block(slot, commitment, { timeoutMs, signal });
    if (answer.kind === 'refused') return { kind: 'refused', slot, refusal: answer };
    const loaded = await this.#read(slot, answer.value, source.remote.format);
    source.remote.giveBack(answer.value);
    return loaded;
  }

  /** Loads the blocks of these slots in order. */
  loadAll(
    source: FollowedSource,
    slots: readonly Slot[],
    commitment: Commitment,
    signal: AbortSignal,
  ): AsyncGenerator<LoadedBlock> {
    return mapOrdered(
      slots,
      () => this.#limit(),
      (slot) => this.load(source, slot, commitment, signal),
    );
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
