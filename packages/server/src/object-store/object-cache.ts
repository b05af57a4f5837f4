/**
 * Ranges of immutable objects on the local disk.
 *
 *   FOLDER/catalogue     what each cache file has, see cache-catalogue.ts
 *   FOLDER/<xx>/<n>      a sparse file as long as its object, with the ranges that were fetched
 *
 * Only an object of which something is cached has a file and an entry in memory. While readers use an object, they share one
 * `CachedObject` with the bits of its granules; the entry of any other object has its runs as a short text.
 *
 * Order of writes: the ranges are written and synchronized before the catalogue lists them, and the catalogue no longer lists a file
 * before the file is removed. A file number is never used again. So after a kill or a power loss at any moment every listed range is in its
 * file, or the file is missing and fetched again.
 *
 * The cache does not verify its files, because the readers of segments verify the checksums of everything they read. They report wrong
 * bytes, from the disk or from the store, as damage, and the owner evicts the object.
 *
 * Admission: everything that is fetched is stored. Eviction: whole objects by LRU, first those that were used only once, so that one
 * scan of all history does not evict data that is used every day.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import { type Fs, removeIfExists } from '../storage/fs.ts';
import { CacheCatalogue, CacheEntry, type OpenedCatalogue } from './cache-catalogue.ts';
import { CacheFile } from './cache-file.ts';
import { ByteBudget, type CacheCounters, CachedObject } from './cached-object.ts';
import { Gate } from './gate.ts';
import type { ObjectStore } from './object-store.ts';
import { granuleBytes, subfolderPattern } from './presence.ts';

export interface ObjectCacheOptions {
  readonly folder: string;
  /** The maximum size of all cache files. Fetches in progress may exceed it for a moment. */
  readonly bytesMax: number;
  readonly requestCountMax: number;
}

export interface ObjectCacheDependencies {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly fs: Fs;
}

/** The share of the cache that objects with several uses may occupy. */
const frequentShare = 0.8;
/** Uses within this time count as one: a query reads an object in many steps. */
const sameUseMs = 60_000;
const saveEveryMs = 1_000;
/** The files that are synchronized before the catalogue is written. Evicted files wait for it meanwhile. */
const batchCount = 32;
/** Bytes that are being fetched in advance for all queries together. They are in memory until they are written. */
const aheadBytesMax = 64 << 20;
/** Files that are open in this thread; worker threads open their own. */
const openCountMax = 256;

interface Dropped extends Pick<CacheEntry, 'name' | 'number'> {
  readonly file: CacheFile;
  /** Whether threads may have opened it. */
  readonly isRead: boolean;
}

export class ObjectCache {
  readonly counters: CacheCounters = { requests: 0, fetchedBytes: 0, evictions: 0 };
  /** Called after each request to the store, with its error if it failed. */
  onFetched: (error?: unknown) => void = () => undefined;
  readonly #options: ObjectCacheOptions;
  readonly #dependencies: ObjectCacheDependencies;
  readonly #catalogue: CacheCatalogue;
  readonly #gate: Gate;
  readonly #aheadBudget = new ByteBudget(aheadBytesMax);
  /** Both maps are in the order of the last use. */
  readonly #recent: Map<string, CacheEntry>;
  readonly #frequent = new Map<string, CacheEntry>();
  /** The objects that readers use. */
  readonly #live = new Map<string, WeakRef<CachedObject>>();
  readonly #released = new FinalizationRegistry<string>((name) => {
    if (this.#live.get(name)?.deref() === undefined) this.#live.delete(name);
  });
  readonly #unsaved = new Set<CachedObject>();
  /** Evicted files, which the catalogue may still list. */
  #dropped: Dropped[] = [];
  /** The files that are open here, in the order of their last use. */
  readonly #open = new Set<CacheFile>();
  #saving: Promise<void> | undefined;
  #isClosed = false;
  #bytes = 0;
  #frequentBytes = 0;
  /** The file numbers of this process start here. */
  readonly #firstNumber: number;

  private constructor(
    options: ObjectCacheOptions,
    dependencies: ObjectCacheDependencies & OpenedCatalogue,
  ) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#catalogue = dependencies.catalogue;
    this.#recent = dependencies.files;
    for (const entry of this.#recent.values()) this.#bytes += bytesOf(entry);
    this.#firstNumber = this.#catalogue.nextNumber;
    this.#gate = new Gate(options.requestCountMax);
  }

  /** Opens a cache with the files that an earlier process left in its folder. */
  static async open(
    options: ObjectCacheOptions,
    dependencies: ObjectCacheDependencies,
  ): Promise<ObjectCache> {
    const { fs } = dependencies;
    await fs.makeFolder(options.folder);
    const { catalogue, files } = await CacheCatalogue.open(fs, options.folder);
    const cache = new ObjectCache(options, { ...dependencies, catalogue, files });
    cache.#shrink();
    return cache;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the object with this name and length, and counts that as a use. `key` is its key in the store. */
  use(name: string, key: string, byteLength: number): CachedObject {
    const entry = this.#entryOf(name);
    if (entry !== undefined) this.#touch(entry);
    let object = this.#live.get(name)?.deref();
    if (object === undefined) {
      object = this.#create(name, byteLength, entry);
      this.#live.set(name, new WeakRef(object));
      this.#released.register(object, name);
    }
    object.key = key;
    return object;
  }

  /** Returns the names of the objects of which something is cached. */
  *names(): Generator<string> {
    yield* this.#recent.keys();
    yield* this.#frequent.keys();
  }

  /** Removes an object that no snapshot needs any more. */
  remove(name: string): void {
    const entry = this.#entryOf(name);
    if (entry !== undefined) this.#evict(entry);
  }

  /** Removes the files that earlier processes did not list, then saves changes at an interval, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.removeOrphans(signal);
    while (!signal.aborted) {
      await this.#dependencies.clock.sleep(saveEveryMs, signal);
      await this.#save();
    }
  }

  /** Removes the files that an earlier process created and did not list before it ended. */
  async removeOrphans(signal: AbortSignal): Promise<void> {
    const { fs } = this.#dependencies;
    const { folder } = this.#options;
    const numbers = new Set<number>();
    for (const { number } of this.#listed()) numbers.add(number);
    for (const subfolder of await fs.list(folder)) {
      if (signal.aborted || !subfolderPattern.test(subfolder)) continue;
      for (const name of await fs.list(`${folder}/${subfolder}`)) {
        const isOrphan = Number(name) < this.#firstNumber && !numbers.has(Number(name));
        if (isOrphan) await removeIfExists(fs, `${folder}/${subfolder}/${name}`);
      }
    }
  }

  /** Closes the files, at the latest after the reads and writes in progress. */
  async close(): Promise<void> {
    await this.#save();
    this.#isClosed = true;
    for (const file of this.#open) await file.close();
    await this.#catalogue.close();
  }

  #entryOf(name: string): CacheEntry | undefined {
    return this.#recent.get(name) ?? this.#frequent.get(name);
  }

  #create(name: string, byteLength: number, entry: CacheEntry | undefined): CachedObject {
    const { folder } = this.#options;
    const stored =
      entry === undefined
        ? undefined
        : { file: this.#fileOf(entry.number, byteLength, false), runs: entry.runs };
    return new CachedObject({ folder, name, byteLength }, stored, {
      store: this.#dependencies.store,
      gate: this.#gate,
      aheadBudget: this.#aheadBudget,
      counters: this.counters,
      onFetched: (error) => this.onFetched(error),
      createFile: () => this.#fileOf(this.#catalogue.allocateNumber(), byteLength, true),
      onStored: (object, bytes) => this.#addBytes(object, bytes),
      onDropped: (file) => this.#drop(name, file, true),
    });
  }

  #fileOf(number: number, byteLength: number, isNew: boolean): CacheFile {
    const { folder } = this.#options;
    return new CacheFile(
      { folder, number, byteLength, isNew },
      {
        fs: this.#dependencies.fs,
        onOpened: (file) => this.#keepOpen(file),
        onClosed: (file) => this.#open.delete(file),
      },
    );
  }

  /** Limits the open files, because a scan may read more objects than a process may have open files. */
  #keepOpen(file: CacheFile): void {
    this.#open.add(file);
    for (const oldest of this.#open) {
      if (this.#open.size <= openCountMax) return;
      if (oldest !== file) oldest.closeIdle().catch(() => undefined);
    }
  }

  #addBytes(object: CachedObject, bytes: number): void {
    const { name, byteLength, file } = object;
    let entry = this.#entryOf(name);
    if (entry === undefined) {
      assert(file !== undefined, 'an object with cached bytes has a file');
      entry = new CacheEntry(name, file.number, byteLength, '');
      entry.lastUsedMs = this.#dependencies.clock.nowMs();
      this.#recent.set(name, entry);
    }
    entry.granuleCount += bytes / granuleBytes;
    this.#bytes += bytes;
    if (this.#frequent.has(name)) this.#frequentBytes += bytes;
    this.#unsaved.add(object);
    this.#shrink(entry);
  }

  #touch(entry: CacheEntry): void {
    const { name } = entry;
    const nowMs = this.#dependencies.clock.nowMs();
    const isAgain = nowMs - entry.lastUsedMs > sameUseMs;
    entry.lastUsedMs = nowMs;
    if (this.#frequent.delete(name)) {
      this.#frequent.set(name, entry);
      return;
    }
    this.#recent.delete(name);
    if (!isAgain) {
      this.#recent.set(name, entry);
      return;
    }
    this.#frequent.set(name, entry);
    this.#frequentBytes += bytesOf(entry);
    this.#demote();
  }

  /** Moves objects with several uses to the others when they exceed their share, so that new objects are not evicted at once. */
  #demote(): void {
    for (const [name, entry] of this.#frequent) {
      if (this.#frequentBytes <= this.#options.bytesMax * frequentShare) return;
      this.#frequent.delete(name);
      this.#frequentBytes -= bytesOf(entry);
      this.#recent.set(name, entry);
    }
  }

  /** Evicts objects until the cache is within its limit, except the object that is being read. */
  #shrink(kept?: CacheEntry): void {
    for (const entries of [this.#recent, this.#frequent]) {
      for (const entry of entries.values()) {
        if (this.#bytes <= this.#options.bytesMax) return;
        if (entry !== kept) this.#evict(entry);
      }
    }
  }

  #evict({ name, number, byteLength }: CacheEntry): void {
    const object = this.#live.get(name)?.deref();
    if (object !== undefined) object.evict();
    else this.#drop(name, this.#fileOf(number, byteLength, false), false);
  }

  /** Forgets a file, and removes it as soon as the catalogue does not list it. */
  #drop(name: string, file: CacheFile, isRead: boolean): void {
    const entry = this.#entryOf(name);
    if (entry?.number === file.number) {
      this.#recent.delete(name);
      if (this.#frequent.delete(name)) this.#frequentBytes -= bytesOf(entry);
      this.#bytes -= bytesOf(entry);
      this.counters.evictions++;
    }
    this.#dropped.push({ name, number: file.number, file, isRead });
    // The reader that needs the space does not wait for it.
    this.#save().catch(() => undefined);
  }

  /** Resolves when the catalogue on the disk lists everything that is cached now, and the evicted files are removed. */
  #save(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#saving ??= this.#saveAll();
    return this.#saving;
  }

  async #saveAll(): Promise<void> {
    // Several objects may be evicted at once.
    await nextTurn();
    try {
      while (this.#unsaved.size > 0 || this.#dropped.length > 0) await this.#saveBatch();
    } catch (error) {
      ignoreStorageError(error);
    } finally {
      this.#saving = undefined;
    }
  }

  async #saveBatch(): Promise<void> {
    const synced = await this.#syncBatch();
    const removed = this.#dropped;
    this.#dropped = [];
    // Some may have been evicted meanwhile.
    const added = synced.filter((entry) => this.#entryOf(entry.name) === entry);
    const count = this.#recent.size + this.#frequent.size;
    try {
      await this.#catalogue.save({ added, removed, all: this.#listed(), count });
    } catch (error) {
      this.#dropped.unshift(...removed);
      throw error;
    }
    for (const { file, isRead } of removed) await file.remove(isRead).catch(ignoreStorageError);
  }

  /** Synchronizes some of the files with unsaved ranges, one at a time, so that other writes of the process are not delayed. */
  async #syncBatch(): Promise<CacheEntry[]> {
    const synced: CacheEntry[] = [];
    for (const object of this.#unsaved) {
      if (synced.length === batchCount) return synced;
      const { file, runs } = object;
      const entry = this.#entryOf(object.name);
      this.#unsaved.delete(object);
      if (file === undefined || entry?.number !== file.number) continue;
      try {
        await file.use((opened) => opened.sync());
        // From now on the object may be collected, because its entry has all that is known.
        entry.runs = runs;
        synced.push(entry);
      } catch (error) {
        ignoreStorageError(error);
        // Its content on the disk is unknown.
        if (object.file === file) object.evict();
      }
    }
    return synced;
  }

  /** Returns the entries whose ranges are durable. */
  *#listed(): Generator<CacheEntry> {
    for (const entries of [this.#recent, this.#frequent])
      for (const entry of entries.values()) if (entry.runs !== '') yield entry;
  }
}

function bytesOf({ granuleCount }: CacheEntry): number {
  return granuleCount * granuleBytes;
}

/** The cache works without a saved catalogue. What is not saved is fetched again by the next process. */
function ignoreStorageError(error: unknown): void {
  if (!isCodedError(error)) throw error;
}
