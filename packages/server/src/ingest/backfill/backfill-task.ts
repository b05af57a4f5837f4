import type { Clock } from '@sluice/base/clock';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { Slot } from '@sluice/ledger/primitives';
import { Backfill, type BackfillDependencies } from './backfill.ts';

export interface BackfillProgress {
  readonly to: Slot;
  /** The lowest linked block. It becomes visible with its segment. */
  readonly slot: Slot | null;
  /** Counted since the process started. */
  readonly blocks: number;
  readonly blocks_per_second: number;
  readonly seconds_left: number | null;
}

const alarm = 'backfill-stalled';
const retryMs = 60_000;
/** The wait until the first block of a new dataset is final. */
const earlyMs = 1_000;

export interface BackfillTaskDependencies extends BackfillDependencies {
  /** Called when the backfill is complete, if this process has loaded a part of it. */
  readonly onDone?: ((progress: BackfillProgress) => void) | undefined;
}

/** Runs a backfill while the dataset is served and followed. Failures raise an alarm and are retried. */
export class BackfillTask {
  readonly #to: Slot;
  readonly #dependencies: BackfillTaskDependencies;
  readonly #meter: Meter;
  #isDone = false;

  constructor(to: Slot, dependencies: BackfillTaskDependencies) {
    this.#to = to;
    this.#dependencies = dependencies;
    this.#meter = new Meter(to, dependencies.clock);
  }

  /** Null when the backfill is complete. */
  get progress(): BackfillProgress | null {
    return this.#isDone ? null : this.#meter.progress;
  }

  /** Resolves when the slot is reached or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { dataset, clock } = this.#dependencies;
    while (!signal.aborted) {
      const failure = await this.#try(signal);
      if (failure === undefined || signal.aborted) return;
      const isEarly = failure.code === 'backfill-too-early';
      if (!isEarly) dataset.alarms.raise(alarm, failure);
      await clock.sleep(isEarly ? earlyMs : retryMs, signal);
    }
  }

  async #try(signal: AbortSignal): Promise<CodedError | undefined> {
    // A stop of the service must not wait for a segment.
    const options = { to: this.#to, storesOnStop: false };
    const onBlock = (slot: Slot) => {
      if (this.#meter.add(slot)) this.#dependencies.dataset.alarms.clear(alarm);
    };
    try {
      await Backfill.run(options, { ...this.#dependencies, onBlock }, signal);
      this.#isDone = true;
      // The last attempt may have stored blocks that an earlier one had loaded and counted.
      this.#dependencies.dataset.alarms.clear(alarm);
      const { progress } = this.#meter;
      if (progress.blocks > 0) this.#dependencies.onDone?.(progress);
      return undefined;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return error;
    }
  }
}

class Meter {
  readonly #to: Slot;
  readonly #clock: Clock;
  #first: { readonly slot: Slot; readonly ms: number } | undefined;
  #slot: Slot | null = null;
  #blockCount = 0;

  constructor(to: Slot, clock: Clock) {
    this.#to = to;
    this.#clock = clock;
  }

  /** Returns false for a block that was counted before: each attempt loads the lowest block again. */
  add(slot: Slot): boolean {
    if (this.#slot !== null && slot >= this.#slot) return false;
    this.#first ??= { slot, ms: this.#clock.nowMs() };
    this.#slot = slot;
    this.#blockCount++;
    return true;
  }

  get progress(): BackfillProgress {
    const [slot, first] = [this.#slot, this.#first];
    const seconds = first === undefined ? 0 : (this.#clock.nowMs() - first.ms) / 1000;
    const done = first === undefined || slot === null ? 0 : first.slot - slot;
    const left =
      slot === null || done <= 0 ? null : (seconds * Math.max(0, slot - this.#to)) / done;
    return {
      to: this.#to,
      slot,
      blocks: this.#blockCount,
      blocks_per_second: seconds === 0 ? 0 : Math.round(this.#blockCount / seconds),
      seconds_left: left === null ? null : Math.ceil(left),
    };
  }
}
