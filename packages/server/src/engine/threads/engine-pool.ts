/**
 * Threads that evaluate queries together. A run is divided into parts, each some row groups or a segment. Thread t of n does every part p with
 * (p + turn) mod n = t, and the pool returns the text in the order of the parts. No part of a query runs on the thread of the pool.
 */

import { Worker } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { type Clock, systemClock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import { CodedError, knownDetail } from '@sluice/base/errors';
import { workerUrl } from '@sluice/base/worker-url';
import type { RegisteredIdl } from '@sluice/decode/idl-registry';
import type { Urgency } from '../../object-store/gate.ts';
import type { ByteRange } from '../../object-store/object-store.ts';
import { countValues, type Selection } from '../../query/query.ts';
import { type Lookup, type LookupResult, mapSelection } from '../lookup/lookup.ts';
import type { ProbeFile, ProbeResult } from '../lookup/probe-files.ts';
import type { BlockRange } from '../segment-run.ts';
import { type EnginePoolOptions, LOOKUP_TURNS, RUN_LIMITS } from './engine-limits.ts';
import {
  type FromThread,
  type RunPiece,
  type RunRequest,
  type SegmentLocation,
  type TextForm,
  type ToThread,
  takenBytesGoal,
} from './engine-messages.ts';
import type { EngineWorkerData } from './engine-thread.ts';
import { FetchSignal } from './fetch-signal.ts';
import { BatchBuffers, readBatch } from './piece-batch.ts';
import { PieceQueue } from './piece-queue.ts';
import { PoolLookups, type ThreadPart } from './pool-lookups.ts';
import { RunPermits } from './run-permits.ts';
import { SegmentFailure } from './segment-failure.ts';

export interface PoolQuery {
  readonly selection: Selection;
  readonly range: BlockRange;
  /** Keys of open segments, in slot order. */
  readonly keys: readonly string[];
  /** The segment whose last block in the range always gets a line. */
  readonly lastKey?: string;
  /** The number of row groups of all segments, if it is known to be small. No more threads than that run the query. */
  readonly partCount?: number | undefined;
  /** Default 1: every row group is a part. */
  readonly partBlocksMin?: number;
  /** Which thread does the first part. Runs that should use each other's cache have the same turn. Default 0. */
  readonly turn?: number;
  /** Whether many readers wait for these few blocks. Urgent runs do not wait for runs over history. */
  readonly isUrgent?: boolean;
  /** Default `plain`. */
  readonly form?: TextForm;
  readonly signal?: AbortSignal;
}

/** The number of selections that threads keep, and of values in their lists. Each thread needs at most 36 MB for them. */
const selectionCountMax = 1_000;
const selectionValueCountMax = 500_000;

type RunMessage = Extract<FromThread, { kind: 'pieces' | 'end' | 'failed' }>;
type FailedMessage = Extract<FromThread, { kind: 'failed' | 'lookup-failed' }>;

/** The objects of a thread live as long as a run, so a larger young generation would only use memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 } as const;

interface PoolSegment {
  readonly number: number;
  readonly location: SegmentLocation;
  readonly onClosed: () => void;
  readonly fetch: FetchRanges | undefined;
  /** The threads that know the segment. A message to a thread costs a tenth of a millisecond, so only those that read it are told. */
  readonly threads: Set<number>;
}

export interface PoolThread {
  on(event: 'message', receive: (message: FromThread) => void): unknown;
  on(event: 'error', receive: (cause: unknown) => void): unknown;
  postMessage(message: ToThread): void;
  terminate(): Promise<unknown>;
}

export interface EnginePoolDependencies {
  readonly clock?: Clock;
  readonly startThread?: (data: EngineWorkerData) => PoolThread;
  /** Receives how long each run waited until it could start. */
  readonly observeWait?: (queue: 'history' | 'urgent', seconds: number) => void;
}

/** Writes ranges of a segment into its cache file. */
export type FetchRanges = (ranges: readonly ByteRange[], urgency: Urgency) => Promise<void>;

export class EnginePool {
  readonly #options: EnginePoolOptions;
  readonly #observeWait: EnginePoolDependencies['observeWait'];
  readonly #clock: Clock;
  readonly #startThread: (data: EngineWorkerData) => PoolThread;
  readonly #threads: PoolThread[];
  readonly #segments = new Map<string, PoolSegment>();
  /** Closed segments that threads may still read. */
  readonly #closing = new Map<number, { readonly threads: Set<number>; onClosed: () => void }>();
  readonly #runs = new Map<number, PieceQueue>();
  readonly #lookups: PoolLookups;
  /** By number of the segment, until no thread reads the segment. */
  readonly #fetches = new Map<number, FetchRanges>();
  readonly #urgentPermits: RunPermits;
  readonly #historyPermits: RunPermits;
  readonly #selections = new Map<Selection, number>();
  #selectionValueCount = 0;
  #nextSelection = 0;
  #idls: readonly RegisteredIdl[] = [];
  #nextSegment = 0;
  #requestCount = 0;
  #nextId = 0;
  #isClosed = false;
  readonly #starting = new Set<number>();
  #onStarted: () => void = () => undefined;
  readonly #started: Promise<void>;

  constructor(options: EnginePoolOptions, dependencies: EnginePoolDependencies = {}) {
    const { clock = systemClock } = dependencies;
    this.#options = options;
    this.#observeWait = dependencies.observeWait;
    this.#clock = clock;
    this.#startThread = dependencies.startThread ?? startWorker;
    this.#lookups = new PoolLookups(LOOKUP_TURNS, clock);
    this.#urgentPermits = new RunPermits(RUN_LIMITS.urgent, clock);
    this.#historyPermits = new RunPermits(RUN_LIMITS.history, clock);
    this.#started = new Promise((resolve) => {
      this.#onStarted = resolve;
    });
    this.#threads = Array.from({ length: options.threadCount }, (_, thread) => this.#start(thread));
  }

  /**
   * Resolves when all threads can evaluate queries, or when the pool is stopped. Queries may be sent before; they wait for the threads,
   * which take a tenth of a second to start.
   */
  get started(): Promise<void> {
    return this.#started;
  }

  get isIdle(): boolean {
    return this.#runs.size === 0;
  }

  /** The number of runs over history and of lookups that have started. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** Makes a segment known under a key. Calls `onClosed` once no thread reads it after `close`. */
  open(
    key: string,
    location: SegmentLocation,
    onClosed: () => void = () => undefined,
    fetch?: FetchRanges,
  ): void {
    assert(!this.#segments.has(key), 'a segment is opened once');
    const number = this.#nextSegment++;
    this.#segments.set(key, { number, location, onClosed, fetch, threads: new Set() });
    if (fetch !== undefined) this.#fetches.set(number, fetch);
  }

  /** Later runs decode by these IDLs, which must be readable. */
  useIdls(idls: readonly RegisteredIdl[]): void {
    this.#idls = idls;
    this.#tellAll({ kind: 'idls', idls });
  }

  /** Closes a segment. Threads keep it until the runs that read it have ended. */
  close(key: string): void {
    const segment = this.#segments.get(key);
    if (segment === undefined) return;
    const { number, onClosed, threads } = segment;
    this.#segments.delete(key);
    this.#closing.set(number, { threads, onClosed });
    for (const thread of threads) this.#tell(thread, { kind: 'close', segment: number });
    this.#endClosing(number);
  }

  /**
   * Returns the text in pieces, in order. Leaving the loop, or the signal, cancels the run. Storage failures are thrown as coded errors
   * after all text before them, those of a segment as `SegmentFailure`. `engine-run-cut` means that the reader was inactive while others
   * waited: it may run again from where it stopped.
   */
  async *run(query: PoolQuery): AsyncGenerator<RunPiece> {
    // A request may outlive the server, whose close waits for a limited time.
    if (this.#isClosed) throw new CodedError('engine-cancelled');
    const id = this.#nextId++;
    const { range, partBlocksMin = 1, turn = 0, isUrgent = false, form = 'plain', signal } = query;
    if (!isUrgent) this.#requestCount++;
    const queue = new PieceQueue(this.#threads.length, turn);
    const permits = isUrgent ? this.#urgentPermits : this.#historyPermits;
    const waitStartMs = this.#clock.nowMs();
    const permit = await permits.take(() => {
      queue.fail(new CodedError('engine-run-cut'));
      this.#end(id, queue);
      permit.leave();
    }, signal);
    const waitedSeconds = (this.#clock.nowMs() - waitStartMs) / 1000;
    this.#observeWait?.(isUrgent ? 'urgent' : 'history', waitedSeconds);
    this.#runs.set(id, queue);
    const cancel = () => queue.fail(new CodedError('engine-cancelled'));
    signal?.addEventListener('abort', cancel, { once: true });
    const selection = this.#numberOf(query.selection);
    if (signal?.aborted === true) cancel();
    else {
      const open = query.keys.map((key) => this.#find(key));
      const segments = open.map(({ number }) => number);
      const lastSegment =
        query.lastKey === undefined ? undefined : this.#find(query.lastKey).number;
      const how = { partBlocksMin, turn, isUrgent, form };
      const run = { id, selection, range, segments, lastSegment, ...how };
      this.#begin(run, open, queue, query.partCount);
    }
    const taken = this.#threads.map(() => 0);
    try {
      for (;;) {
        const next = await (isUrgent ? this.#lookups.wait(queue.next()) : queue.next());
        if (next === undefined) return;
        permit.rest();
        yield next;
        permit.resume();
        const { thread, length } = next;
        const bytes = elementAt(taken, thread) + length;
        taken[thread] = bytes < takenBytesGoal ? bytes : 0;
        if (bytes >= takenBytesGoal) this.#tell(thread, { kind: 'taken', id, bytes });
      }
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#end(id, queue);
      permit.leave();
    }
  }

  /**
   * Returns the results of a lookup for each of the open segments, in their order. Fails as `run` does. The caller limits the number of
   * concurrent lookups.
   */
  async lookUp<L extends Lookup>(
    keys: readonly string[],
    lookup: L,
  ): Promise<readonly LookupResult<L>[]> {
    this.#requestCount++;
    const segments = keys.map((key) => this.#find(key));
    // A segment is always assigned to the same thread, which then has its indexes in memory.
    const parts = this.#divide(segments, ({ number }) => number);
    for (const { items, thread } of parts) this.#tellOpen(thread, items);
    const results = await this.#lookups.start(parts, (id, { items, positions }) => ({
      kind: 'lookup',
      id,
      segments: items.map(({ number }) => number),
      positions,
      // Numbered here, because the threads may have forgotten selections while the lookup waited.
      lookup: mapSelection(lookup, (selection) => this.#numberOf(selection)),
    }));
    return results as LookupResult<L>[];
  }

  /** Returns for each file whether its segment can have the signature. For an unreadable file it returns that it can. */
  async probe(files: readonly ProbeFile[], signature: Uint8Array): Promise<readonly ProbeResult[]> {
    this.#requestCount++;
    const parts = this.#divide(files, (_, position) => position);
    const results = await this.#lookups.start(parts, (id, { items, positions }) => ({
      kind: 'probe',
      id,
      signature,
      files: items,
      positions,
    }));
    return results as ProbeResult[];
  }

  /** Divides items among the threads by a number of each. */
  #divide<Item>(
    items: readonly Item[],
    numberOf: (item: Item, position: number) => number,
  ): ThreadPart<Item>[] {
    const parts = this.#threads.map(
      (_, thread): ThreadPart<Item> => ({
        items: [],
        positions: [],
        tell: (message) => this.#tell(thread, message),
        thread,
      }),
    );
    for (const [position, item] of items.entries()) {
      const part = parts[numberOf(item, position) % parts.length];
      part?.items.push(item);
      part?.positions.push(position);
    }
    return parts.filter(({ positions }) => positions.length > 0);
  }

  async stop(): Promise<void> {
    this.#isClosed = true;
    this.#onStarted();
    this.#lookups.close();
    this.#urgentPermits.close();
    this.#historyPermits.close();
    for (const queue of this.#runs.values()) queue.fail(new CodedError('engine-cancelled'));
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }

  #find(key: string): PoolSegment {
    const segment = this.#segments.get(key);
    assert(segment !== undefined, 'a segment is open while it is asked');
    return segment;
  }

  /** Makes segments known to a thread that will read them. */
  #tellOpen(thread: number, segments: readonly PoolSegment[]): void {
    for (const { number, location, threads } of segments) {
      if (threads.has(thread)) continue;
      threads.add(thread);
      this.#tell(thread, { kind: 'open', segment: number, location });
    }
  }

  /** Notes that a thread no longer reads a segment. */
  #letGo(number: number, thread: number): void {
    this.#closing.get(number)?.threads.delete(thread);
    this.#endClosing(number);
  }

  /** Ends closing a segment once no thread reads it. */
  #endClosing(number: number): void {
    const closing = this.#closing.get(number);
    if (closing === undefined || closing.threads.size > 0) return;
    this.#closing.delete(number);
    this.#fetches.delete(number);
    closing.onClosed();
  }

  /** Sends the run to the threads that have a part in it. */
  #begin(
    run: RunRequest,
    segments: readonly PoolSegment[],
    queue: PieceQueue,
    partCount = Number.POSITIVE_INFINITY,
  ): void {
    const threadCount = this.#threads.length;
    for (const thread of this.#threads.keys()) {
      const firstPart = (thread - (run.turn % threadCount) + threadCount) % threadCount;
      if (firstPart >= partCount) {
        queue.end(thread);
        continue;
      }
      this.#tellOpen(thread, segments);
      this.#tell(thread, { kind: 'run', run });
    }
  }

  /** Returns the number by which the threads know a selection. */
  #numberOf(selection: Selection): number {
    let number = this.#selections.get(selection);
    if (number === undefined) {
      this.#makeRoomForSelection(countValues(selection));
      number = this.#nextSelection++;
      this.#selections.set(selection, number);
      this.#tellAll({ kind: 'select', number, selection });
    }
    return number;
  }

  #makeRoomForSelection(valueCount: number): void {
    this.#selectionValueCount += valueCount;
    const isFull = this.#selectionValueCount > selectionValueCountMax;
    if (!isFull && this.#selections.size < selectionCountMax) return;
    this.#selections.clear();
    this.#selectionValueCount = valueCount;
    this.#tellAll({ kind: 'forget' });
  }

  #end(id: number, queue: PieceQueue): void {
    if (this.#runs.delete(id) && !queue.isEnded) this.#tellAll({ kind: 'cancel', id });
    queue.release();
  }

  #start(thread: number): PoolThread {
    this.#starting.add(thread);
    const { threadCount, cacheBytesMax, readsStore = false } = this.#options;
    const cacheBytes = Math.floor(cacheBytesMax / threadCount);
    const memory = BatchBuffers.make();
    const buffers = new BatchBuffers(memory);
    const signal = FetchSignal.create();
    const data: EngineWorkerData = {
      thread,
      threadCount,
      cacheBytesMax: cacheBytes,
      memory,
      fetchSignal: signal.buffer,
      readsStore,
    };
    const worker = this.#startThread(data);
    worker.on('message', (message) => {
      if (message.kind === 'fetch') void this.#fetch(message, signal);
      else this.#receive(thread, message, buffers);
    });
    worker.on('error', (cause) => this.#replace(thread, cause));
    for (const { number: segment, location, threads } of this.#segments.values())
      if (threads.has(thread)) worker.postMessage({ kind: 'open', segment, location });
    worker.postMessage({ kind: 'idls', idls: this.#idls });
    for (const [selection, number] of this.#selections)
      worker.postMessage({ kind: 'select', number, selection });
    return worker;
  }

  async #fetch(
    { segment, ranges, ticket }: Extract<FromThread, { kind: 'fetch' }>,
    signal: FetchSignal,
  ): Promise<void> {
    const fetch = this.#fetches.get(segment);
    try {
      await fetch?.(ranges, ticket === undefined ? 'ahead' : 'now');
      if (ticket !== undefined) signal.finish(ticket);
    } catch (error) {
      if (ticket !== undefined) signal.fail(ticket, error);
    }
  }

  #receive(
    thread: number,
    message: Exclude<FromThread, { kind: 'fetch' }>,
    buffers: BatchBuffers,
  ): void {
    switch (message.kind) {
      case 'started':
        this.#starting.delete(thread);
        if (this.#starting.size === 0) this.#onStarted();
        return;
      case 'closed':
        this.#letGo(message.segment, thread);
        return;
      case 'lookup-done':
        this.#lookups.finish(thread, message);
        return;
      case 'lookup-failed':
        this.#lookups.fail(message.id, this.#failureOf(message));
        return;
      default:
        this.#receiveOfRun(thread, message, buffers);
    }
  }

  #receiveOfRun(thread: number, message: RunMessage, buffers: BatchBuffers): void {
    const queue = this.#runs.get(message.id);
    if (message.kind === 'pieces') {
      const pieces = readBatch(message, buffers);
      if (queue === undefined) for (const piece of pieces) piece.release();
      else queue.push(thread, pieces);
      if (message.isEnd) queue?.end(thread);
    } else if (message.kind === 'end') queue?.end(thread);
    else queue?.failAt(thread, { part: message.part, error: this.#failureOf(message) });
  }

  #failureOf({ segment, code, detail, message }: FailedMessage): CodedError {
    if (code === undefined) return new CodedError('engine-thread-failed', { reason: message });
    const [key] = [...this.#segments].find(([, { number }]) => number === segment) ?? [];
    return key === undefined
      ? new CodedError(code, ...knownDetail(detail))
      : new SegmentFailure({ key, code, detail });
  }

  /** Handles the death of a thread: its runs fail, and the pool continues. */
  #replace(thread: number, cause: unknown): void {
    if (this.#isClosed) return;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const failure = new CodedError('engine-thread-failed', { reason }, { cause });
    for (const queue of this.#runs.values()) queue.fail(failure);
    this.#lookups.failThread(thread, failure);
    for (const number of this.#closing.keys()) this.#letGo(number, thread);
    this.#threads[thread] = this.#start(thread);
  }

  #tell(thread: number, message: ToThread): void {
    elementAt(this.#threads, thread).postMessage(message);
  }

  #tellAll(message: ToThread): void {
    for (const thread of this.#threads.keys()) this.#tell(thread, message);
  }
}

function startWorker(workerData: EngineWorkerData): PoolThread {
  return new Worker(workerUrl(import.meta.url, './engine-worker.ts'), {
    workerData,
    // A thread does not need the environment, which may contain secrets.
    env: {},
    // Options of the parent process, such as a test runner's, do not apply to the thread.
    execArgv: [],
    resourceLimits,
  });
}
