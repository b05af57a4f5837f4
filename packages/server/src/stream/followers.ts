/**
 * The streams that wait for a dataset to change. One loop waits for the dataset and wakes them in slices. Streams at the head are
 * in groups, which receive the new blocks directly.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import { HeadGroups, type HeadNews, type HeadPosition, type HeadWaiter } from './head-groups.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface WaitOptions {
  /** The version that the stream has seen. A newer one wakes it. */
  readonly version: number;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** Set if the stream wants to receive new blocks directly. */
  readonly atHead?: HeadFollower;
}

export interface HeadFollower {
  readonly position: HeadPosition;
  /** Receives new blocks. Returns the time until which the stream waits for further news, or null if it waits no longer. */
  take(news: HeadNews): number | null;
}

export interface FollowersDependencies {
  readonly dataset: DatasetReader;
  readonly clock: Clock;
  readonly shared: SharedEvaluations;
}

class Waiter implements HeadWaiter {
  readonly version: number;
  readonly #follower: HeadFollower | undefined;
  readonly #resolve: () => void;
  deadlineMs: number;
  /** Called once, when the stream stops waiting. */
  leave: (() => void) | undefined;

  constructor({ version, deadlineMs, atHead }: WaitOptions, resolve: () => void) {
    this.version = version;
    this.deadlineMs = deadlineMs;
    this.#follower = atHead;
    this.#resolve = resolve;
  }

  take(news: HeadNews): boolean {
    if (this.leave === undefined || this.#follower === undefined) return false;
    const deadlineMs = this.#follower.take(news);
    this.deadlineMs = deadlineMs ?? this.deadlineMs;
    return deadlineMs !== null;
  }

  settle(): void {
    const { leave } = this;
    if (leave === undefined) return;
    this.leave = undefined;
    leave();
    this.#resolve();
  }
}

export class Followers {
  readonly #waiters = new Set<Waiter>();
  /** The waiters that are in no group. */
  readonly #alone = new Set<Waiter>();
  readonly #groups: HeadGroups;
  /** The current waiter of each signal. One listener per signal is cheaper than one per wait. */
  readonly #bySignal = new WeakMap<AbortSignal, { waiter: Waiter | null }>();
  readonly #limits: StreamLimits;
  readonly #dataset: DatasetReader;
  readonly #clock: Clock;
  #ticking = false;

  constructor(limits: StreamLimits, dependencies: FollowersDependencies) {
    this.#limits = limits;
    this.#dataset = dependencies.dataset;
    this.#clock = dependencies.clock;
    this.#groups = new HeadGroups(limits, dependencies);
  }

  get count(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves when the dataset has changed, at the deadline, or when the signal aborts; the caller finds out which. A stream at the
   * head may have received any number of changes by then.
   */
  wait(options: WaitOptions): Promise<void> {
    const { version, deadlineMs, signal, atHead } = options;
    if (signal.aborted || this.#isNews(version) || this.#clock.nowMs() >= deadlineMs) {
      return Promise.resolve();
    }
    const held = this.#holderOf(signal);
    assert(held.waiter === null, 'a signal has at most one waiter');
    return new Promise((resolve) => {
      const waiter = new Waiter(options, resolve);
      this.#waiters.add(waiter);
      held.waiter = waiter;
      const leaveGroup =
        atHead === undefined ? undefined : this.#groups.join(atHead.position, version, waiter);
      if (leaveGroup === undefined) this.#alone.add(waiter);
      waiter.leave = () => {
        this.#waiters.delete(waiter);
        held.waiter = null;
        if (leaveGroup === undefined) this.#alone.delete(waiter);
        else leaveGroup();
      };
    });
  }

  #holderOf(signal: AbortSignal): { waiter: Waiter | null } {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return known;
    const position: { waiter: Waiter | null } = { waiter: null };
    this.#bySignal.set(signal, position);
    signal.addEventListener('abort', () => position.waiter?.settle(), { once: true });
    return position;
  }

  /** Runs until the signal aborts. Remaining waiters end by their own signals. */
  async run(signal: AbortSignal): Promise<void> {
    assert(!this.#ticking, 'one loop wakes the followers of a dataset');
    this.#ticking = true;
    await Promise.all([this.#wakeOnChange(signal), this.#wakeOnDeadline(signal)]);
    this.#ticking = false;
  }

  async #wakeOnChange(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const version = this.#dataset.snapshot().version;
      this.#groups.advance();
      await this.#wakeWhere(this.#alone, (waiter) => this.#isNews(waiter.version));
      await this.#dataset.changed(version, signal);
    }
  }

  async #wakeOnDeadline(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(this.#limits.tickMs, signal);
      const nowMs = this.#clock.nowMs();
      await this.#wakeWhere(this.#waiters, (waiter) => waiter.deadlineMs <= nowMs);
    }
  }

  async #wakeWhere(waiters: Iterable<Waiter>, isDue: (waiter: Waiter) => boolean): Promise<void> {
    let woken = 0;
    // A waiter that is added again during this loop is visited too. It is not due, because it has already seen the current state.
    for (const waiter of waiters) {
      if (!isDue(waiter)) continue;
      waiter.settle();
      woken += 1;
      if (woken % this.#limits.wakeSliceCount === 0) await nextTurn();
    }
  }

  #isNews(version: number): boolean {
    return this.#dataset.snapshot().version !== version;
  }
}
