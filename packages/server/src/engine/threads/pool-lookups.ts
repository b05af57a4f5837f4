import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import type { LookupResults } from '../lookup/lookup.ts';
import type { ProbeResult } from '../lookup/probe-files.ts';
import type { FromThread, ToThread } from './engine-messages.ts';

type AnyResult = LookupResults[keyof LookupResults] | ProbeResult;

interface PendingLookup {
  /** Indexed like the list of segments. */
  readonly results: (AnyResult | undefined)[];
  readonly threads: Set<number>;
  readonly resolve: (results: AnyResult[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface LookupTurnsOptions {
  /** Requests that threads work on at the same time. */
  readonly countMax: number;
  /** A request that has waited this long starts even while followers wait. */
  readonly waitMsMax: number;
  /** While there are followers, the threads rest after a request for as long as it took, but not longer than this. */
  readonly restMsMax: number;
}

/** A follower gets a block several times in this time. */
const followedMs = 2_000;

interface WaitingLookup {
  readonly sinceMs: number;
  readonly start: () => void;
}

/**
 * The lookups in progress on a pool's threads. A lookup consists of several requests. Few of them run at the same time, and none starts
 * while followers wait for a new block. The callers limit the number of lookups.
 */
export class PoolLookups {
  readonly #options: LookupTurnsOptions;
  readonly #clock: Clock;
  readonly #pending = new Map<number, PendingLookup>();
  readonly #waiting: WaitingLookup[] = [];
  #nextId = 0;
  #runningCount = 0;
  #urgentCount = 0;
  #urgentMs = Number.NEGATIVE_INFINITY;
  readonly #closed = new AbortController();

  constructor(options: LookupTurnsOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Waits for the threads on behalf of followers. Lookups start afterwards. */
  async wait<Result>(result: Promise<Result>): Promise<Result> {
    this.#urgentCount++;
    try {
      return await result;
    } finally {
      this.#urgentCount--;
      this.#urgentMs = this.#clock.nowMs();
      this.#startWaiting();
    }
  }

  /** Sends each thread its part of a request. Resolves to the results of all parts, by position. */
  async start<Item>(
    parts: readonly ThreadPart<Item>[],
    buildMessage: (id: number, part: ThreadPart<Item>) => ToThread,
  ): Promise<AnyResult[]> {
    await new Promise<void>((start) => {
      this.#waiting.push({ sinceMs: this.#clock.nowMs(), start });
      this.#startWaiting();
    });
    const startMs = this.#clock.nowMs();
    try {
      return await this.#send(parts, buildMessage);
    } finally {
      void this.#rest(startMs);
    }
  }

  /** Ends a turn. A request takes longer when the processor is busy, and then the rest is longer, too. */
  async #rest(startMs: number): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const restMs = Math.min(nowMs - startMs, this.#options.restMsMax);
    const isFollowed = nowMs - this.#urgentMs < followedMs;
    if (isFollowed && restMs > 0) await this.#clock.sleep(restMs, this.#closed.signal);
    this.#runningCount--;
    this.#startWaiting();
  }

  #startWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#runningCount >= this.#options.countMax) return;
      const waitedMs = this.#clock.nowMs() - next.sinceMs;
      if (this.#urgentCount > 0 && waitedMs < this.#options.waitMsMax) return;
      this.#waiting.shift();
      // It is counted here, so that no other one starts before it continues.
      this.#runningCount++;
      next.start();
    }
  }

  #send<Item>(
    parts: readonly ThreadPart<Item>[],
    buildMessage: (id: number, part: ThreadPart<Item>) => ToThread,
  ): Promise<AnyResult[]> {
    if (this.#closed.signal.aborted) return Promise.reject(new CodedError('engine-cancelled'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (parts.length === 0) return resolve([]);
      const results = parts.flatMap(({ positions }) => positions.map(() => undefined));
      const threads = new Set(parts.map(({ thread }) => thread));
      this.#pending.set(id, { results, threads, resolve, reject });
      for (const part of parts) part.tell(buildMessage(id, part));
    });
  }

  finish(thread: number, { id, positions, results }: FinishedLookup): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    positions.forEach((position, i) => {
      pending.results[position] = results[i];
    });
    pending.threads.delete(thread);
    if (pending.threads.size > 0) return;
    this.#pending.delete(id);
    const all = pending.results.filter((result) => result !== undefined);
    assert(
      all.length === pending.results.length,
      'a thread returns a result for each of its segments',
    );
    pending.resolve(all);
  }

  fail(id: number, error: CodedError): void {
    this.#pending.get(id)?.reject(error);
    this.#pending.delete(id);
  }

  /** Fails the lookups that the thread has not completed. */
  failThread(thread: number, error: CodedError): void {
    for (const [id, { threads }] of this.#pending) if (threads.has(thread)) this.fail(id, error);
  }

  close(): void {
    this.#closed.abort();
    for (const id of this.#pending.keys()) this.fail(id, new CodedError('engine-cancelled'));
  }
}

export type FinishedLookup = Extract<FromThread, { kind: 'lookup-done' }>;

/** The items of a request that one thread does, and the position of each in the request. */
export interface ThreadPart<Item> {
  readonly thread: number;
  readonly items: Item[];
  readonly positions: number[];
  readonly tell: (message: ToThread) => void;
}
