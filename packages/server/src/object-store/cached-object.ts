import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  read as readFile,
  unlinkSync,
  write as writeFile,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assert } from '@sluice/base/assert';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { ByteBudget } from './byte-budget.ts';
import { dataSuffix, mapSuffix, writeMap } from './cache-map.ts';
import type { CachedLocation } from './cached-range-file.ts';
import type { Gate, Urgency } from './gate.ts';
import type { ByteRange, ObjectStore } from './object-store.ts';
import { Presence } from './presence.ts';

export interface CacheCounters {
  requests: number;
  fetchedBytes: number;
  evictions: number;
}

export interface CachedObjectOptions {
  readonly folder: string;
  readonly name: string;
  readonly byteLength: number;
}

export interface CachedObjectDependencies {
  readonly store: ObjectStore;
  readonly gate: Gate;
  /** Limits what is fetched in advance. */
  readonly aheadBudget: ByteBudget;
  readonly counters: CacheCounters;
  readonly onStored: (object: CachedObject, bytes: number) => void;
  readonly onEvicted: (object: CachedObject, bytes: number) => void;
  /** Called when the file was opened. It stays open until `closeIdle`. */
  readonly onOpened: (object: CachedObject) => void;
  /** Called after each request to the store, with its error if it failed. */
  readonly onFetched: (error?: unknown) => void;
}

/** An eviction during a fetch restarts it. This is the limit of restarts. */
const attemptCountMax = 8;

const { O_CREAT, O_RDWR } = constants;
const readAt = promisify(readFile);
const writeAt = promisify(writeFile);

/** One object of the cache: its file, and the ranges that the file has. */
export class CachedObject {
  /** The key of the object in the store. */
  key = '';
  readonly byteLength: number;
  readonly #path: string;
  readonly #dependencies: CachedObjectDependencies;
  readonly #presence: Presence;
  readonly #fetches = new Set<ByteRange & { readonly done: Promise<void> }>();
  #descriptor: number | undefined;
  /** The number of reads and writes of the file in progress. */
  #useCount = 0;
  /** Whether the file is closed as soon as it is not in use: its number may then belong to another file. */
  #closesWhenIdle = false;
  #isRemoved = false;
  #hasFile = false;
  /** Whether the file still has evicted content. It is truncated before it is used again. */
  #hasEvictedContent = false;
  #presentBytes = 0;

  constructor(options: CachedObjectOptions, dependencies: CachedObjectDependencies) {
    this.byteLength = options.byteLength;
    this.#path = join(options.folder, options.name);
    this.#dependencies = dependencies;
    this.#presence = Presence.create(options.byteLength);
  }

  get presentBytes(): number {
    return this.#presentBytes;
  }

  /** Returns the location of the file for worker threads. The file exists from now on. */
  get location(): CachedLocation {
    this.#open();
    const path = `${this.#path}${dataSuffix}`;
    return { kind: 'cached', path, byteLength: this.byteLength, presence: this.#presence.buffer };
  }

  /** Resolves when the ranges are in the file. */
  async fetch(ranges: readonly ByteRange[], urgency: Urgency = 'now'): Promise<void> {
    for (let evictions = 0; evictions < attemptCountMax; ) {
      const { generation } = this.#presence;
      if (ranges.every((range) => this.#presence.covers(range))) return;
      const pending = this.#pendingIn(ranges);
      const runs = this.#presence.planRuns(ranges, pending);
      const started = runs.map((run) => this.#start(run, urgency));
      await Promise.all([...pending.map(({ done }) => done), ...started]);
      if (this.#presence.generation !== generation) evictions++;
    }
    throw new CodedError('cache-too-small');
  }

  /**
   * Fetches ranges that will probably be needed. Does nothing if the budget for ranges in advance is used up: the
   * ranges are then fetched when a query reads them.
   */
  async fetchAhead(ranges: readonly ByteRange[]): Promise<void> {
    const { aheadBudget } = this.#dependencies;
    const runs = this.#presence.planRuns(ranges, this.#pendingIn(ranges));
    const bytes = runs.reduce((sum, { start, end }) => sum + end - start, 0);
    if (bytes === 0 || !aheadBudget.take(bytes)) return;
    try {
      await this.fetch(ranges, 'ahead');
    } finally {
      aheadBudget.giveBack(bytes);
    }
  }

  async read(start: number, length: number): Promise<Uint8Array> {
    const end = Math.min(start + length, this.byteLength);
    for (let attempt = 0; attempt < attemptCountMax; attempt++) {
      await this.fetch([{ start, end }]);
      const { generation } = this.#presence;
      if (!this.#presence.covers({ start, end })) continue;
      const bytes = new Uint8Array(end - start);
      await this.#guard(() => readAt(this.#open(), bytes, 0, bytes.length, start));
      if (this.#presence.generation === generation) return bytes;
    }
    throw new CodedError('cache-too-small');
  }

  /** Stores the whole object, whose bytes the caller has verified. */
  async admit(parts: readonly Uint8Array[]): Promise<void> {
    const { generation } = this.#presence;
    let at = 0;
    for (const part of parts) {
      await this.#write(part, at);
      at += part.length;
    }
    assert(at === this.byteLength, 'an object is admitted whole');
    if (this.#presence.generation === generation) this.#mark({ start: 0, end: at });
  }

  /** Removes the content. A thread that is reading it detects that and fetches it again. */
  evict(): void {
    const bytes = this.#presentBytes;
    this.#presence.clear();
    this.#presentBytes = 0;
    this.#hasEvictedContent = this.#hasFile;
    try {
      if (this.#hasFile) this.#open();
    } catch (error) {
      // The next use of the file truncates it.
      if (!isCodedError(error, 'cache-failed')) throw error;
    }
    this.#dependencies.onEvicted(this, bytes);
  }

  /** Marks the ranges as present that an earlier process recorded in the map file. */
  restore(words: Int32Array): void {
    this.#presence.words.set(words, 1);
    this.#presentBytes = this.#presence.presentBytes;
    this.#hasFile = true;
    this.#dependencies.onStored(this, this.#presentBytes);
  }

  saveMap(): void {
    if (!this.#hasFile) return;
    const words = this.#presence.words.slice(1);
    writeMap(`${this.#path}${mapSuffix}`, { byteLength: this.byteLength, words });
  }

  /** Closes the file until it is needed again. Returns false if it is in use. */
  closeIdle(): boolean {
    if (this.#useCount > 0) return false;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    return true;
  }

  /** Closes the file, at the latest after the reads and writes in progress. */
  close(): void {
    this.#closesWhenIdle = !this.closeIdle();
  }

  removeFiles(): void {
    this.#isRemoved = true;
    this.close();
    try {
      unlinkIfExists(`${this.#path}${mapSuffix}`);
      unlinkIfExists(`${this.#path}${dataSuffix}`);
    } catch (error) {
      throw cacheError(error);
    }
  }

  /** Returns the requests in progress for bytes of the ranges. */
  #pendingIn(ranges: readonly ByteRange[]): (ByteRange & { readonly done: Promise<void> })[] {
    return [...this.#fetches].filter((fetch) =>
      ranges.some(({ start, end }) => fetch.start < end && start < fetch.end),
    );
  }

  #start(run: ByteRange, urgency: Urgency): Promise<void> {
    const done = this.#dependencies.gate.pass(urgency, () => this.#fetchRun(run));
    const fetch = { ...run, done };
    this.#fetches.add(fetch);
    const forget = () => this.#fetches.delete(fetch);
    done.then(forget, forget);
    return done;
  }

  async #fetchRun(run: ByteRange): Promise<void> {
    const { store, counters } = this.#dependencies;
    const { generation } = this.#presence;
    const bytes = await store.get(this.key, run).catch((error: unknown) => {
      this.#dependencies.onFetched(error);
      throw error;
    });
    this.#dependencies.onFetched();
    counters.requests++;
    counters.fetchedBytes += bytes.length;
    await this.#write(bytes, run.start);
    // After an eviction the file may be shorter than the range that was just written.
    if (this.#presence.generation === generation) this.#mark(run);
  }

  #mark(run: ByteRange): void {
    const added = this.#presence.add(run);
    this.#presentBytes += added;
    this.#dependencies.onStored(this, added);
  }

  async #write(bytes: Uint8Array, offset: number): Promise<void> {
    await this.#guard(async () => {
      let written = 0;
      while (written < bytes.length) {
        const rest = bytes.length - written;
        const result = await writeAt(this.#open(), bytes, written, rest, offset + written);
        written += result.bytesWritten;
      }
    });
  }

  /** Returns the descriptor of the file, which has its full length and no evicted content. */
  #open(): number {
    if (this.#isRemoved) throw new CodedError('cache-failed', { reason: 'removed' });
    try {
      if (this.#descriptor === undefined) {
        this.#descriptor = openSync(`${this.#path}${dataSuffix}`, O_RDWR | O_CREAT, 0o640);
        this.#hasFile = true;
        this.#dependencies.onOpened(this);
        ftruncateSync(this.#descriptor, this.byteLength);
      }
      if (this.#hasEvictedContent) this.#truncate(this.#descriptor);
      return this.#descriptor;
    } catch (error) {
      throw cacheError(error);
    }
  }

  /** Removes the map before the content, because a process that starts after a kill trusts the map. */
  #truncate(descriptor: number): void {
    unlinkIfExists(`${this.#path}${mapSuffix}`);
    ftruncateSync(descriptor, 0);
    ftruncateSync(descriptor, this.byteLength);
    this.#hasEvictedContent = false;
  }

  async #guard(work: () => Promise<unknown>): Promise<void> {
    this.#useCount++;
    try {
      await work();
    } catch (error) {
      throw cacheError(error);
    } finally {
      this.#useCount--;
      if (this.#closesWhenIdle) this.close();
    }
  }
}

function unlinkIfExists(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
}

function cacheError(cause: unknown): CodedError {
  if (isCodedError(cause)) return cause;
  const code = systemErrorCode(cause) ?? 'unknown';
  return new CodedError('cache-failed', { reason: code }, { cause });
}
