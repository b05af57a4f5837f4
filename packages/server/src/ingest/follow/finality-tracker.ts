/**
 * Finalizes our blocks. About once a second it asks the sources for their finalized slot, and finalizes our block there if
 * most sources have the same hash. The slot alone proves nothing, because a source on another branch reports slots too.
 */
import type { Clock } from '@sluice/base/clock';
import { settleWithin } from '@sluice/base/settle-within';
import type { BlockRef } from '@sluice/ledger/block';
import type { AlarmBoard } from '../../dataset/alarm-board.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import { agreedFinalSlot, isConfirmedFinal, responseMsMax } from './confirm-finality.ts';
import type { FollowedSource } from './followed-source.ts';
import { newestUnfinalized } from './own-blocks.ts';

export interface FinalityDependencies {
  readonly feeder: ChainFeeder;
  readonly alarms: AlarmBoard;
  readonly clock: Clock;
  readonly sources: () => readonly FollowedSource[];
}

const everyMs = 800;
const stallAlarmMs = 60_000;

export class FinalityTracker {
  readonly #dependencies: FinalityDependencies;
  readonly #pending = new Set<FollowedSource>();
  #advancedMs: number;

  constructor(dependencies: FinalityDependencies) {
    this.#dependencies = dependencies;
    this.#advancedMs = dependencies.clock.nowMs();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#dependencies;
    while (!signal.aborted) {
      const startMs = clock.nowMs();
      await this.step(signal);
      await clock.sleep(Math.max(0, startMs + everyMs - clock.nowMs()), signal);
    }
  }

  async step(signal: AbortSignal): Promise<void> {
    const reads = this.#dependencies.sources().map((source) => this.#readSlots(source, signal));
    await settleWithin(reads, responseMsMax, this.#dependencies.clock);
    const sources = this.#dependencies.sources();
    const candidate = newestUnfinalized(
      this.#dependencies.feeder.pending,
      agreedFinalSlot(sources),
    );
    if (candidate === undefined) {
      this.#noteStall();
      return;
    }
    const { clock } = this.#dependencies;
    const isFinal = await isConfirmedFinal(candidate, sources, { clock, signal });
    if (isFinal) await this.#finalize(candidate, signal);
  }

  /** Asks a source unless the previous request is still open, so that a silent source does not delay the others. */
  async #readSlots(source: FollowedSource, signal: AbortSignal): Promise<void> {
    if (!source.health.isReady || this.#pending.has(source)) return;
    this.#pending.add(source);
    const [finalized, confirmed] = await Promise.all([
      source.remote.slot('finalized', signal),
      source.remote.slot('confirmed', signal),
    ]);
    this.#pending.delete(source);
    source.note(finalized);
    if (finalized.kind === 'ok') source.finalizedSlot = finalized.value;
    if (confirmed.kind === 'ok') source.confirmedSlot = confirmed.value;
  }

  async #finalize(block: BlockRef, signal: AbortSignal): Promise<void> {
    const { feeder, clock, alarms } = this.#dependencies;
    // If a fork has replaced the block meanwhile, the chain rejects the change and the next round tries again.
    const outcome = await feeder.commit([{ kind: 'finalize', block }], signal);
    if (outcome.kind !== 'committed') return;
    this.#advancedMs = clock.nowMs();
    alarms.clear('finality-stalled');
  }

  #noteStall(): void {
    const { clock, alarms } = this.#dependencies;
    const stalledMs = clock.nowMs() - this.#advancedMs;
    if (stalledMs < stallAlarmMs) return;
    const seconds = Math.floor(stalledMs / 1000);
    alarms.raise('finality-stalled', `no block became final for ${seconds} s`);
  }
}
