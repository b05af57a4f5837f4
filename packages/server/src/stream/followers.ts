/**
 * Everyone who waits for a dataset to change. One loop waits on the dataset itself and wakes the rest in slices, so that ten
 * thousand of them do not hold the process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { StreamLimits } from './stream-limits.ts';

interface Waiter {
  readonly version: number;
  readonly deadlineMs: number;
  readonly wake: () => void;
}

export interface WaitOptions {
  /** The state already seen; a newer one wakes. */
  readonly version: number;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export interface FollowersModules {
  readonly dataset: DatasetReader;
  readonly clock: Clock;
}

export class Followers {
  readonly #waiters = new Set<Waiter>();
  /** Who waits by a signal now. A listener for each wait would cost as much as the wait itself. */
  readonly #bySignal = new WeakMap<AbortSignal, { waiter: Waiter | null }>();
  readonly #limits: StreamLimits;
  readonly #dataset: DatasetReader;
  readonly #clock: Clock;
  #ticking = false;

  constructor(limits: StreamLimits, modules: FollowersModules) {
    this.#limits = limits;
    this.#dataset = modules.dataset;
    this.#clock = modules.clock;
  }

  get count(): number {
    return this.#waiters.size;
  }

  /** Resolves when the dataset changed, at the deadline, or when the signal aborts; the caller looks which. */
  async wait({ version, deadlineMs, signal }: WaitOptions): Promise<void> {
    if (signal.aborted || this.#isNews(version) || this.#clock.nowMs() >= deadlineMs) return;
    const place = this.#placeOf(signal);
    assert(place.waiter === null, 'a signal belongs to one who waits');
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiters.delete(waiter);
        place.waiter = null;
        resolve();
      };
      const waiter: Waiter = { version, deadlineMs, wake };
      this.#waiters.add(waiter);
      place.waiter = waiter;
    });
  }

  #placeOf(signal: AbortSignal): { waiter: Waiter | null } {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return known;
    const place: { waiter: Waiter | null } = { waiter: null };
    this.#bySignal.set(signal, place);
    signal.addEventListener('abort', () => place.waiter?.wake(), { once: true });
    return place;
  }

  /** Runs until the signal aborts. Waiters then are the business of their own signals. */
  async run(signal: AbortSignal): Promise<void> {
    assert(!this.#ticking, 'one loop wakes the followers of a dataset');
    this.#ticking = true;
    await Promise.all([this.#wakeOnChange(signal), this.#wakeOnDeadline(signal)]);
    this.#ticking = false;
  }

  async #wakeOnChange(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const version = this.#dataset.snapshot().version;
      await this.#wakeWhere((waiter) => this.#isNews(waiter.version));
      await this.#dataset.changed(version, signal);
    }
  }

  async #wakeOnDeadline(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(this.#limits.tickMs, signal);
      const nowMs = this.#clock.nowMs();
      await this.#wakeWhere((waiter) => waiter.deadlineMs <= nowMs);
    }
  }

  async #wakeWhere(isDue: (waiter: Waiter) => boolean): Promise<void> {
    let woken = 0;
    // A waiter that comes back while this runs stands at the end of the set with a state it has seen: it is not due.
    for (const waiter of this.#waiters) {
      if (!isDue(waiter)) continue;
      waiter.wake();
      woken += 1;
      if (woken % this.#limits.wakeSliceCount === 0) await nextTurn();
    }
  }

  #isNews(version: number): boolean {
    return this.#dataset.snapshot().version !== version;
  }
}
