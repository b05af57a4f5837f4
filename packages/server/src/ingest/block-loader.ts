/** Fetches blocks and prepares them, several at once, in order, within a bound on memory. */
import { CodedError, isCodedError } from '../base/errors.ts';
import { mapOrdered } from '../base/map-ordered.ts';
import type { Slot } from '../ledger/primitives.ts';
import { headTimeoutMs, historyTimeoutMs } from '../source/ledger-node.ts';
import { slotOfLine } from '../source/portal-node.ts';
import type { Refusal } from '../source/rpc-refusal.ts';
import type { BlockFormat, Commitment } from '../source/source-node.ts';
import type { FollowedSource } from './followed-source.ts';
import type { PreparedBlock } from './prepared-block.ts';

export type PrepareBlock = (
  slot: Slot,
  bytes: Uint8Array,
  format: BlockFormat,
) => Promise<PreparedBlock>;

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
    const loaded = await this.#read(slot, answer.value, source.node.format);
    source.node.giveBack(answer.value);
    return loaded;
  }

  /** The blocks of these slots, in order, each as it fares; whoever meets one that is not loaded stops. */
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

  /** The blocks of a portal's lines as they come, in order, each as it fares. */
  loadLines(lines: AsyncIterable<Uint8Array>): AsyncGenerator<LoadedBlock> {
    return mapOrdered(
      lines,
      () => this.#limit(),
      (line) => {
        const slot = slotOfLine(line);
        if (slot !== undefined) return this.#read(slot, line, 'line');
        const error = new CodedError('block-field-missing', { field: 'header.number' });
        return Promise.resolve({ kind: 'damaged', slot: 0 as Slot, error });
      },
    );
  }

  #limit(): number {
    const byBytes = Math.floor(underWayBytesMax / Math.max(1, this.#blockBytes));
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
