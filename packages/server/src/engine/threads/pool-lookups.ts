import { assert } from '@sluice/base/assert';
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

/** The lookups in progress on a pool's threads. The callers limit their number. */
export class PoolLookups {
  readonly #pending = new Map<number, PendingLookup>();
  #nextId = 0;

  /** Sends each thread its part of a request. Resolves to the results of all parts, by position. */
  start<Item>(
    parts: readonly ThreadPart<Item>[],
    buildMessage: (id: number, part: ThreadPart<Item>) => ToThread,
  ): Promise<AnyResult[]> {
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

export type FinishedLookup = Extract<FromThread, { kind: 'lookup-done' }>;

/** The items of a request that one thread does, and the position of each in the request. */
export interface ThreadPart<Item> {
  readonly thread: number;
  readonly items: Item[];
  readonly positions: number[];
  readonly tell: (message: ToThread) => void;
}
