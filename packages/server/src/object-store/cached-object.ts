import { assert } from '@sluice/base/assert';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { memberOf } from '@sluice/protocol/unknown-value';
import type { CacheFile } from './cache-file.ts';
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
  readonly createFile: () => CacheFile;
  /** Called when the file has further bytes. */
  readonly onStored: (object: CachedObject, bytes: number) => void;
  /** Called when the object has no longer a file. */
  readonly onDropped: (file: CacheFile) => void;
  /** Called after each request to the store, with its error if it failed. */
  readonly onFetched: (error?: unknown) => void;
}

/** What an earlier process stored of an object. */
export interface StoredRuns {
  readonly file: CacheFile;
  readonly runs: string;
}

/** An eviction during a fetch restarts it. This is the limit of restarts. */
const attemptCountMax = 8;

/** An object while readers use it: its file, and the ranges that the file has. */
export class CachedObject {
  /** The key of the object in the store. */
  key = '';
  readonly name: string;
  readonly byteLength: number;
  readonly #folder: string;
  readonly #dependencies: CachedObjectDependencies;
  readonly #presence: Presence;
  readonly #fetches = new Set<ByteRange & { readonly done: Promise<void> }>();
  /** Undefined while nothing is cached. */
  #file: CacheFile | undefined;
  #evictionCount = 0;
  /** The runs that are not visible to readers until `#restore` has found the file. */
  #stored: StoredRuns | undefined;
  #restoring: Promise<void> | undefined;

  constructor(
    { folder, name, byteLength }: CachedObjectOptions,
    stored: StoredRuns | undefined,
    dependencies: CachedObjectDependencies,
  ) {
    this.name = name;
    this.byteLength = byteLength;
    this.#folder = folder;
    this.#stored = stored;
    this.#dependencies = dependencies;
    this.#presence = Presence.create(byteLength);
  }

  /** Returns the location of the file for worker threads. The file exists as soon as a range was fetched. */
  get location(): CachedLocation {
    const { buffer } = this.#presence;
    const { byteLength } = this;
    return { kind: 'cached', folder: this.#folder, byteLength, presence: buffer };
  }

  get file(): CacheFile | undefined {
    return this.#file;
  }

  /** See `Presence.runs`. */
  get runs(): string {
    return this.#presence.runs;
  }

  /** Resolves when the ranges are in the file. */
  async fetch(ranges: readonly ByteRange[], urgency: Urgency = 'now'): Promise<void> {
    if (this.#stored !== undefined) await this.#restore(this.#stored);
    const firstEviction = this.#evictionCount;
    while (this.#evictionCount - firstEviction < attemptCountMax) {
      if (ranges.every((range) => this.#presence.covers(range))) return;
      const pending = this.#pendingIn(ranges);
      const runs = this.#presence.planRuns(ranges, pending);
      const started = runs.map((run) => this.#start(run, urgency));
      await Promise.all([...pending.map(({ done }) => done), ...started]);
    }
    throw new CodedError('cache-too-small');
  }

  /**
   * Fetches ranges that will probably be needed. Does nothing if the budget for ranges in advance is used up: the
   * ranges are then fetched when a query reads them.
   */
  async fetchAhead(ranges: readonly ByteRange[]): Promise<void> {
    if (this.#stored !== undefined) await this.#restore(this.#stored);
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
      const file = this.#file;
      if (file === undefined || !this.#presence.covers({ start, end })) continue;
      const bytes = await file.use((opened) => opened.read(start, end - start)).catch(fail);
      if (this.#file === file) return bytes;
    }
    throw new CodedError('cache-too-small');
  }

  /** Stores the whole object, whose bytes the caller has verified. */
  async admit(parts: readonly Uint8Array[]): Promise<void> {
    if (this.#stored !== undefined) await this.#restore(this.#stored);
    const byteLength = parts.reduce((sum, { length }) => sum + length, 0);
    assert(byteLength === this.byteLength, 'an object is admitted whole');
    await this.#store({ start: 0, end: byteLength }, parts);
  }

  /** Removes the content. A thread that is reading it detects that and fetches it again. */
  evict(): void {
    const file = this.#file ?? this.#stored?.file;
    this.#stored = undefined;
    this.#file = undefined;
    this.#presence.startFile(0);
    this.#evictionCount++;
    if (file !== undefined) this.#dependencies.onDropped(file);
  }

  /** Makes the ranges of an earlier process visible if their file exists. */
  #restore(stored: StoredRuns): Promise<void> {
    this.#restoring ??= this.#restoreRuns(stored);
    return this.#restoring;
  }

  async #restoreRuns(stored: StoredRuns): Promise<void> {
    const length = await stored.file
      .use((opened) => opened.size())
      .catch((error: unknown) => {
        if (!isCodedError(error, 'storage-missing')) fail(error);
        return 0;
      })
      .finally(() => {
        this.#restoring = undefined;
      });
    // An eviction may have happened meanwhile.
    if (this.#stored !== stored) return;
    // A power loss may have removed a file whose folder was not synchronized.
    if (length !== this.byteLength) return this.evict();
    this.#stored = undefined;
    this.#file = stored.file;
    this.#presence.startFile(stored.file.number);
    this.#presence.addRuns(stored.runs);
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
    const bytes = await store.get(this.key, run).catch((error: unknown) => {
      this.#dependencies.onFetched(error);
      throw error;
    });
    this.#dependencies.onFetched();
    counters.requests++;
    counters.fetchedBytes += bytes.length;
    await this.#store(run, [bytes]);
  }

  async #store(run: ByteRange, parts: readonly Uint8Array[]): Promise<void> {
    const file = this.#file ?? this.#startFile();
    try {
      await file.use((opened) => opened.write(run.start, parts));
    } catch (error) {
      // No file exists for an object of which nothing is cached.
      if (this.#file === file && this.runs === '') this.evict();
      fail(error);
    }
    // After an eviction the written file is not that of the object.
    if (this.#file === file) this.#dependencies.onStored(this, this.#presence.add(run));
  }

  #startFile(): CacheFile {
    const file = this.#dependencies.createFile();
    this.#file = file;
    this.#presence.startFile(file.number);
    return file;
  }
}

/** Throws the error of a file as an error of the cache. */
function fail(cause: unknown): never {
  if (!isCodedError(cause) || !cause.code.startsWith('storage-')) throw cause;
  const errno = memberOf(cause.detail, 'errno');
  const reason = typeof errno === 'string' ? errno : cause.code;
  throw new CodedError('cache-failed', { reason }, { cause });
}

/** Limits the bytes that are in use at the same time. */
export class ByteBudget {
  readonly #bytesMax: number;
  #usedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Reserves bytes until the caller gives them back. Returns false, and reserves none, if fewer are left. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#bytesMax) return false;
    this.#usedBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
