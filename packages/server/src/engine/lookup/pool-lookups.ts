import { assert } from '../../base/assert.ts';
import { CodedError } from '../../base/errors.ts';
import type { FromThread, ToThread } from '../engine-messages.ts';
import type { Lookup, LookupResults } from './lookup.ts';

type AnyResult = LookupResults[keyof LookupResults];

interface PendingLookup {
  /** Indexed like the list of segments. */
  readonly results: (AnyResult | undefined)[];
  readonly threads: Set<number>;
  readonly resolve: (results: AnyResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The lookups in progress on a pool's threads. The callers limit their number. */
export class PoolLookups {
  readonly #pending = new Map<number, PendingLookup>();
  #nextId = 0;

  /** Sends each segment to one thread, always the same, which then has the segment's indexes in memory. */
  start(
    segments: readonly number[],
    lookup: Lookup,
    { threadCount, tell }: LookupThreads,
  ): Promise<AnyResult[]> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (segments.length === 0) return resolve([]);
      const results: (AnyResult | undefined)[] = segments.map(() => undefined);
      const threads = new Set(segments.map((segment) => segment % threadCount));
      this.#pending.set(id, { results, threads, resolve, reject });
      for (const thread of threads) {
        const own = [...segments.entries()].filter(([, one]) => one % threadCount === thread);
        const positions = own.map(([position]) => position);
        tell(thread, { kind: 'look', id, segments: own.map(([, one]) => one), positions, lookup });
      }
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
    assert(all.length === pending.results.length, 'a thread answers for each of its segments');
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
    for (const id of this.#pending.keys()) this.fail(id, new CodedError('engine-cancelled'));
  }
}

export type FinishedLookup = Extract<FromThread, { kind: 'looked' }>;

interface LookupThreads {
  readonly threadCount: number;
  readonly tell: (thread: number, message: ToThread) => void;
}
