/**
 * Everyone who waits for a dataset to change. One loop waits on the dataset itself and wakes the rest: those at the head with
 * their groups, who get what is new with it, the others in slices.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import { HeadGroups, type HeadNews, type HeadPlace, type HeadWaiter } from './head-groups.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface WaitOptions {
  /** The state already seen; a newer one wakes. */
  readonly version: number;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** For one that wants to be told what is new instead of finding out. */
  readonly atHead?: HeadFollower;
}

export interface HeadFollower {
  readonly place: HeadPlace;
  /** Takes what is new. Answers until when it waits for more; null if it has to go on by itself. */
  take(news: HeadNews): number | null;
}

export interface FollowersModules {
  readonly dataset: DatasetReader;
  readonly clock: Clock;
  readonly shared: SharedEvaluations;
}

class Waiter implements HeadWaiter {
  readonly version: number;
  readonly #follower: HeadFollower | undefined;
  readonly #resolve: () => void;
  deadlineMs: number;
  /** Called once, when it waits no more. */
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
  /** Those of them that are in no group. */
  readonly #alone = new Set<Waiter>();
  readonly #groups: HeadGroups;
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
    this.#groups = new HeadGroups(limits, modules);
  }

  get count(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves when the dataset changed, at the deadline, or when the signal aborts; the caller looks which. One at the head
   * may have been told of any number of changes by then.
   */
  wait(options: WaitOptions): Promise<void> {
    const { version, deadlineMs, signal, atHead } = options;
    if (signal.aborted || this.#isNews(version) || this.#clock.nowMs() >= deadlineMs) {
      return Promise.resolve();
    }
    const held = this.#placeOf(signal);
    assert(held.waiter === null, 'a signal belongs to one who waits');
    return new Promise((resolve) => {
      const waiter = new Waiter(options, resolve);
      this.#waiters.add(waiter);
      held.waiter = waiter;
      const leaveGroup =
        atHead === undefined ? undefined : this.#groups.join(atHead.place, version, waiter);
      if (leaveGroup === undefined) this.#alone.add(waiter);
      waiter.leave = () => {
        this.#waiters.delete(waiter);
        held.waiter = null;
        if (leaveGroup === undefined) this.#alone.delete(waiter);
        else leaveGroup();
      };
    });
  }

  #placeOf(signal: AbortSignal): { waiter: Waiter | null } {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return known;
    const place: { waiter: Waiter | null } = { waiter: null };
    this.#bySignal.set(signal, place);
    signal.addEventListener('abort', () => place.waiter?.settle(), { once: true });
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
    // A waiter that comes back while this runs stands at the end of the set with a state it has seen: it is not due.
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
