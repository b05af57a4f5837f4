/** A source in memory with latencies, failures and lies. */
import { CodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import type { BlockHeader } from '../../packages/ledger/src/block.ts';
import { type Slot, toSlot } from '../../packages/ledger/src/primitives.ts';
import type { PreparedBlock } from '../../packages/server/src/ingest/prepare/prepared-block.ts';
import { newCounts } from '../../packages/source/src/normalize/normalize-counts.ts';
import { refusal, type SourceResult } from '../../packages/source/src/refusal.ts';
import type { Commitment, Source } from '../../packages/source/src/source.ts';
import type { Ledger, LedgerBlock } from './ledger.ts';
import type { Life, Scheduler } from './scheduler.ts';

/**
 * What is wrong with a source. A source that lies omits blocks, changes their parents, sends bytes that are no block, reports too high a
 * finalized slot, or has another history below the finalized head. A source that splits does not lie: it follows another branch above its
 * finalized block, which does not advance.
 */
export type SourceFault =
  | 'none'
  | 'down'
  | 'stalls'
  | 'lags'
  | 'omits'
  | 'parents'
  | 'bytes'
  | 'finality'
  | 'rewrites'
  | 'splits';

/** The state of a source outlives the processes that ask it. */
export class SourceState {
  fault: SourceFault = 'none';
  readonly name: string;
  readonly #ledger: Ledger;

  constructor(name: string, ledger: Ledger) {
    this.name = name;
    this.#ledger = ledger;
  }

  /** What a source serves instead of the real chain while it rewrites its history or follows another branch. */
  branch: LedgerBlock[] = [];
  #splitFinalized = 0;

  /** Follows another branch above a block, from now on. */
  split(depth: number): void {
    this.branch = this.#ledger.rewrite(depth);
    this.#splitFinalized = this.#ledger.finalized?.slot ?? 0;
    this.fault = 'splits';
  }

  get chain(): readonly LedgerBlock[] {
    const isElsewhere = this.fault === 'rewrites' || this.fault === 'splits';
    return isElsewhere ? this.branch : this.#ledger.chain;
  }

  /** The number of blocks that the source has of its chain. One that lags lacks the newest. */
  get blockCount(): number {
    return this.fault === 'lags' ? Math.max(1, this.#ledger.finalDepth + 1) : this.chain.length;
  }

  get headSlot(): number {
    return this.chain[this.blockCount - 1]?.slot ?? 0;
  }

  get finalized(): number {
    const { finalized, head } = this.#ledger;
    if (this.fault === 'finality') return head.slot + 3;
    if (this.fault === 'splits') return this.#splitFinalized;
    return finalized?.slot ?? 0;
  }
}

export interface SimulatedSourceDependencies {
  readonly ledger: Ledger;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly life: Life;
}

/** The time after which the client of a source gives up. */
const timeoutMs = 10_000;

export class SimulatedSource implements Source {
  readonly format = 'node';
  readonly isRateLimited = false;
  readonly name: string;
  readonly #state: SourceState;
  readonly #dependencies: SimulatedSourceDependencies;

  constructor(state: SourceState, dependencies: SimulatedSourceDependencies) {
    this.name = state.name;
    this.#state = state;
    this.#dependencies = dependencies;
  }

  identity() {
    const { genesisHash } = this.#dependencies.ledger;
    return this.#call(() => ok({ genesisHash, content: null }));
  }

  slot(commitment: Commitment): Promise<SourceResult<Slot>> {
    return this.#call(() => ok(toSlot(this.#last(commitment))));
  }

  firstAvailable(): Promise<SourceResult<Slot>> {
    return this.#call(() => ok(toSlot(this.#dependencies.ledger.chain[0]?.slot ?? 0)));
  }

  listSlots(
    { first, last }: { readonly first: number; readonly last: number },
    commitment: Commitment,
  ): Promise<SourceResult<Slot[]>> {
    return this.#call(() => {
      const slots: Slot[] = [];
      const end = Math.min(last, this.#last(commitment));
      for (let i = this.#indexAt(first); i < this.#state.blockCount; i++) {
        const slot = this.#state.chain[i]?.slot ?? 0;
        if (slot > end) break;
        if (!this.#isOmitted(slot)) slots.push(toSlot(slot));
      }
      return ok(slots);
    });
  }

  header(slot: Slot, commitment: Commitment): Promise<SourceResult<BlockHeader>> {
    return this.#call(() => {
      const found = this.#blockAt(slot, commitment);
      return found === undefined ? this.#missing(slot) : ok(found.header);
    });
  }

  block(slot: Slot, commitment: Commitment): Promise<SourceResult<Uint8Array>> {
    return this.#call(() => {
      const found = this.#blockAt(slot, commitment);
      if (found === undefined) return this.#missing(slot);
      if (this.#state.fault === 'bytes') return ok(Buffer.from('no block'));
      const bytes = Buffer.from(found.hash);
      if (found.header !== this.#dependencies.ledger.find(found.hash)?.header)
        distorted.set(bytes, found);
      return ok(bytes);
    });
  }

  giveBack(): void {}

  async close(): Promise<void> {}

  #last(commitment: Commitment): number {
    const { finalized, headSlot } = this.#state;
    return commitment === 'finalized' ? finalized : headSlot;
  }

  #indexAt(slot: number): number {
    const { chain } = this.#state;
    let [low, high] = [0, this.#state.blockCount];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((chain[middle]?.slot ?? 0) < slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isOmitted(slot: number): boolean {
    return this.#state.fault === 'omits' && slot % 3 === 0;
  }

  #blockAt(slot: number, commitment: Commitment): LedgerBlock | undefined {
    const found = this.#state.chain[this.#indexAt(slot)];
    if (found?.slot !== slot || slot > this.#last(commitment) || this.#isOmitted(slot))
      return undefined;
    const isChanged = this.#state.fault === 'parents' && found.parent !== null;
    return isChanged ? this.#dependencies.ledger.distort(found) : found;
  }

  #missing(slot: number) {
    return refusal(slot < this.#state.headSlot ? 'skipped-hint' : 'not-available', 'none');
  }

  async #call<Value>(answer: () => SourceResult<Value>): Promise<SourceResult<Value>> {
    const { scheduler, random, life } = this.#dependencies;
    const { fault } = this.#state;
    const ms = fault === 'stalls' ? timeoutMs : random.unit() * (random.chance(0.02) ? 2_000 : 20);
    await scheduler.delay(ms, life);
    if (fault === 'down' || fault === 'stalls') return refusal('outage', fault);
    return answer();
  }
}

const ok = <Value>(value: Value): SourceResult<Value> => ({ kind: 'ok', value });

const distorted = new WeakMap<Uint8Array, LedgerBlock>();

/** Prepares what `block` returns: the hash of a block. */
export function prepareSimulated(ledger: Ledger, slot: Slot, bytes: Uint8Array): PreparedBlock {
  const found = distorted.get(bytes) ?? ledger.find(Buffer.from(bytes).toString());
  if (found === undefined) throw new CodedError('block-not-json', { slot });
  return { header: found.header, bytes: found.segmentBytes(), counts: newCounts() };
}
