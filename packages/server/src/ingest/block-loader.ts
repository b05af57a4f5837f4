/** Fetches blocks and prepares them, several at once, in order, within a bound on memory. */
import { type CodedError, isCodedError } from '../base/errors.ts';
import { mapOrdered } from '../base/map-ordered.ts';
import type { Slot } from '../ledger/primitives.ts';
import { type Commitment, headTimeoutMs, historyTimeoutMs } from '../source/ledger-node.ts';
import type { Refusal } from '../source/rpc-refusal.ts';
import type { FollowedSource } from './followed-source.ts';
import type { PreparedBlock } from './prepared-block.ts';

export type PrepareBlock = (slot: Slot, bytes: Uint8Array) => Promise<PreparedBlock>;

export type LoadedBlock =
  | { readonly kind: 'loaded'; readonly prepared: PreparedBlock }
  /** The source did not give it. */
  | { readonly kind: 'refused'; readonly slot: Slot; readonly refusal: Refusal }
  /** What it gave is no block. */
  | { readonly kind: 'damaged'; readonly slot: Slot; readonly error: CodedError };

const underWayCountMax = 16;
/** Raw bytes of blocks that are under way. A block costs several times its bytes while it is prepared. */
const underWayBytesMax = 96 * 1024 * 1024;

export class BlockLoader {
  readonly #prepare: PrepareBlock;
  readonly #countMax: number;
  /** What a block of late weighs. */
  #blockBytes = 256 * 1024;

  /** So many blocks are under way at once at most. */
  constructor(prepare: PrepareBlock, countMax = underWayCountMax) {
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
    const answer = await source.node.block(slot, commitment, { timeoutMs, signal });
    if (answer.kind === 'refused') return { kind: 'refused', slot, refusal: answer };
    this.#blockBytes += (answer.value.byteLength - this.#blockBytes) / 8;
    try {
      return { kind: 'loaded', prepared: await this.#prepare(slot, answer.value) };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return { kind: 'damaged', slot, error };
    }
  }

  /** The blocks of these slots, in order, each as it fares; whoever meets one that is not loaded stops. */
  loadAll(
    source: FollowedSource,
    slots: readonly Slot[],
    commitment: Commitment,
    signal: AbortSignal,
  ): AsyncGenerator<LoadedBlock> {
    const limit = () =>
      Math.min(this.#countMax, Math.floor(underWayBytesMax / Math.max(1, this.#blockBytes)));
    return mapOrdered(slots, limit, (slot) => this.load(source, slot, commitment, signal));
  }
}
