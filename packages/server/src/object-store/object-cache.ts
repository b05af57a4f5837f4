/**
 * Ranges of immutable objects on the local disk.
 *
 *   FOLDER/<name>.data   a sparse file as long as the object, with the ranges that were fetched
 *   FOLDER/<name>.map    the list of these ranges; written some time later, so after a crash some ranges are fetched again, and
 *                        removed before the ranges are
 *
 * The cache does not verify its files, because the readers of segments verify the checksums of everything they read. They report wrong
 * bytes, from the disk or from the store, as damage, and the owner evicts the object.
 *
 * Admission: everything that is fetched is stored. Eviction: whole objects by LRU, first those that were used only once, so that one
 * scan of all history does not evict data that is used every day.
 */
import { readdirSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@sluice/base/clock';
import { makeFolder } from '../storage/make-folder.ts';
import { ByteBudget } from './byte-budget.ts';
import { dataSuffix, mapSuffix, readMap } from './cache-map.ts';
import { type CacheCounters, CachedObject } from './cached-object.ts';
import { Gate } from './gate.ts';
import type { ObjectStore } from './object-store.ts';

export interface ObjectCacheOptions {
  readonly folder: string;
  /** The maximum size of all cache files. Fetches in progress may exceed it for a moment. */
  readonly bytesMax: number;
  /** The maximum number of concurrent requests to the store. */
  readonly requestCountMax: number;
}

export interface ObjectCacheDependencies {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** The share of the cache that objects with several uses may occupy. */
const frequentShare = 0.8;
/** Uses within this time count as one: a query reads an object in many steps. */
const sameUseMs = 60_000;
const saveEveryMs = 1_000;
/** Bytes that are being fetched in advance for all queries together. They are in memory until they are written. */
const aheadBytesMax = 64 << 20;
/** Files that are open in this thread; worker threads open their own. */
const openCountMax = 256;

interface Entry {
  readonly object: CachedObject;
  lastUsedMs: number;
}

export class ObjectCache {
  readonly counters: CacheCounters = { requests: 0, fetchedBytes: 0, evictions: 0 };
  /** Called after each request to the store, with its error if it failed. */
  onFetched: (error?: unknown) => void = () => undefined;
  readonly #options: ObjectCacheOptions;
  readonly #dependencies: ObjectCacheDependencies;
  readonly #gate: Gate;
  readonly #aheadBudget = new ByteBudget(aheadBytesMax);
  /** Both maps are in the order of the last use. */
  readonly #recent = new Map<string, Entry>();
  readonly #frequent = new Map<string, Entry>();
  readonly #unsaved = new Set<CachedObject>();
  /** Objects whose file is open here, in the order of their last use. */
  readonly #open = new Set<CachedObject>();
  #bytes = 0;
  #frequentBytes = 0;

  private constructor(options: ObjectCacheOptions, dependencies: ObjectCacheDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#gate = new Gate(options.requestCountMax);
  }

  /** Opens a cache with the files that an earlier process left in its folder. */
  static async open(
    options: ObjectCacheOptions,
    dependencies: ObjectCacheDependencies,
  ): Promise<ObjectCache> {
    await makeFolder(options.folder);
    const cache = new ObjectCache(options, dependencies);
    cache.#load();
    return cache;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the object with this name and length, and counts that as a use. `key` is its key in the store. */
  use(name: string, key: string, byteLength: number): CachedObject {
    const nowMs = this.#dependencies.clock.nowMs();
    const known = this.#recent.get(name) ?? this.#frequent.get(name);
    if (known !== undefined) {
      this.#touch(name, known, nowMs);
      if (this.#open.has(known.object)) this.#keepOpen(known.object);
      known.object.key = key;
      return known.object;
    }
    const object = this.#create(name, byteLength);
    object.key = key;
    this.#recent.set(name, { object, lastUsedMs: nowMs });
    return object;
  }

  /** Limits the open files, because a scan may read more objects than a process may have open files. */
  #keepOpen(object: CachedObject): void {
    this.#open.delete(object);
    this.#open.add(object);
    for (const oldest of this.#open) {
      if (this.#open.size <= openCountMax) return;
      if (oldest === object) continue;
      if (oldest.closeIdle()) this.#open.delete(oldest);
    }
  }

  names(): string[] {
    return [...this.#recent.keys(), ...this.#frequent.keys()];
  }

  /** Removes an object that no snapshot needs any more. */
  remove(name: string): void {
    const entry = this.#recent.get(name) ?? this.#frequent.get(name);
    if (entry === undefined) return;
    this.#evict(entry.object);
    this.#forget(name);
    this.#unsaved.delete(entry.object);
    entry.object.removeFiles();
    this.#open.delete(entry.object);
  }

  /** Writes the maps of objects that changed, at an interval, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#dependencies.clock.sleep(saveEveryMs, signal);
      this.#save();
    }
  }

  close(): void {
    this.#save();
    for (const { object } of [...this.#recent.values(), ...this.#frequent.values()]) object.close();
  }

  #create(name: string, byteLength: number): CachedObject {
    const { folder } = this.#options;
    return new CachedObject(
      { folder, name, byteLength },
      {
        store: this.#dependencies.store,
        gate: this.#gate,
        aheadBudget: this.#aheadBudget,
        counters: this.counters,
        onFetched: (error) => this.onFetched(error),
        onOpened: (object) => this.#keepOpen(object),
        onStored: (object, bytes) => {
          this.#bytes += bytes;
          if (this.#frequent.has(name)) this.#frequentBytes += bytes;
          this.#unsaved.add(object);
          this.#shrink(name);
        },
        onEvicted: (object, bytes) => {
          this.#bytes -= bytes;
          if (this.#frequent.has(name)) this.#frequentBytes -= bytes;
          this.#unsaved.add(object);
        },
      },
    );
  }

  #touch(name: string, entry: Entry, nowMs: number): void {
    const isAgain = nowMs - entry.lastUsedMs > sameUseMs;
    entry.lastUsedMs = nowMs;
    const { presentBytes } = entry.object;
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
    this.#frequentBytes += presentBytes;
    this.#demote();
  }

  /** Moves objects with several uses to the others when they exceed their share, so that new objects are not evicted at once. */
  #demote(): void {
    for (const [name, entry] of this.#frequent) {
      if (this.#frequentBytes <= this.#options.bytesMax * frequentShare) return;
      this.#frequent.delete(name);
      this.#frequentBytes -= entry.object.presentBytes;
      this.#recent.set(name, entry);
    }
  }

  /** Evicts objects until the cache is within its limit, except the object that is being read. */
  #shrink(keptName: string): void {
    for (const entries of [this.#recent, this.#frequent]) {
      for (const [name, { object }] of entries) {
        if (this.#bytes <= this.#options.bytesMax) return;
        if (name === keptName || object.presentBytes === 0) continue;
        this.#evict(object);
      }
    }
  }

  #evict(object: CachedObject): void {
    object.evict();
    this.counters.evictions++;
  }

  #forget(name: string): void {
    this.#recent.delete(name);
    this.#frequent.delete(name);
  }

  #save(): void {
    for (const object of this.#unsaved) object.saveMap();
    this.#unsaved.clear();
  }

  #load(): void {
    const { folder } = this.#options;
    const names = readdirSync(folder);
    const maps = names.filter((name) => name.endsWith(mapSuffix));
    const byAge = maps
      .map((file) => ({ file, usedMs: statSync(join(folder, file)).mtimeMs }))
      .sort((a, b) => a.usedMs - b.usedMs);
    const known = new Set<string>();
    for (const { file } of byAge) {
      const name = file.slice(0, -mapSuffix.length);
      const map = readMap(join(folder, file));
      if (map === undefined || !names.includes(`${name}${dataSuffix}`)) continue;
      const object = this.#create(name, map.byteLength);
      this.#recent.set(name, { object, lastUsedMs: Number.NEGATIVE_INFINITY });
      object.restore(map.words);
      known.add(`${name}${mapSuffix}`).add(`${name}${dataSuffix}`);
    }
    for (const name of names) if (!known.has(name)) unlinkSync(join(folder, name));
  }
}
