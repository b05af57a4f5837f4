import { assert } from '../base/assert.ts';
import type { EngineKernel } from './engine-kernel.ts';

/** A column as the kernels use it: values, and for ranges and texts where each row's part starts. */
export interface LoadedColumn {
  /** Where the values are, or the text. */
  readonly at: number;
  /** Bytes a value: 1, 2, 4, 8 or 16. */
  readonly width: number;
  readonly count: number;
  /** Where the starts are: count + 1 values of 32 bits; 0 if there are none. */
  readonly starts: number;
}

/** The loaded columns of one row group, or the pages of one segment, by name. */
export type Shelf<Name = string | number> = Map<Name, CacheEntry>;

interface CacheEntry {
  readonly column: LoadedColumn;
  readonly allocation: number;
  /** Takes it from its shelf and tells whoever points to it. */
  readonly drop: () => void;
  /** The last step that used it. */
  step: CacheStep | undefined;
  /** How many steps use it now. */
  users: number;
  /** The number of the use that was its last. */
  usedAt: number;
  isGone: boolean;
}

/** What has not been used while as many uses passed as there are entries, this many times over, is idle. */
const idleRounds = 2;

/**
 * Loaded columns and pages, kept up to a number of bytes. What is idle goes first. Where nothing is, the newest go, those
 * first that cost little to load again: queries go through the same columns round and round, and a round that is larger
 * than the cache would else evict each column just before it is needed again.
 *
 * Nothing that a step is using goes: a step is one row group, and needs all it touched until its text is written.
 */
export class ColumnCache {
  readonly #kernel: EngineKernel;
  readonly #bytesMax: number;
  /** In the order they came; those that are gone are taken out now and then. */
  #cheap: CacheEntry[] = [];
  #dear: CacheEntry[] = [];
  #useCount = 0;
  #lookedAt = 0;

  constructor(kernel: EngineKernel, bytesMax: number) {
    this.#kernel = kernel;
    this.#bytesMax = bytesMax;
  }

  beginStep(): CacheStep {
    if (this.#isOver) this.#removeIdle();
    if (this.#isOver) this.#removeNewest(this.#cheap);
    if (this.#isOver) this.#removeNewest(this.#dear);
    return new CacheStep(this);
  }

  /** Lets go of everything on a shelf, of which no step may be left. */
  clear(shelf: Shelf): void {
    for (const entry of shelf.values()) {
      assert(entry.users === 0, 'a segment is closed when nobody reads it');
      this.#remove(entry);
    }
  }

  /** For steps: an entry that came, and each use of one. */
  add(entry: CacheEntry, isDear: boolean): void {
    (isDear ? this.#dear : this.#cheap).push(entry);
  }

  nextUse(): number {
    return this.#useCount++;
  }

  get #isOver(): boolean {
    return this.#kernel.allocatedBytes > this.#bytesMax;
  }

  /** Looking at all entries costs something: it is done when a good part of them can have become idle, and takes them all. */
  #removeIdle(): void {
    const size = this.#cheap.length + this.#dear.length;
    if (this.#useCount - this.#lookedAt < size / 4) return;
    this.#lookedAt = this.#useCount;
    const idleBefore = this.#useCount - size * idleRounds;
    for (const entry of [...this.#cheap, ...this.#dear]) {
      if (entry.usedAt < idleBefore && entry.users === 0) this.#remove(entry);
    }
    this.#cheap = this.#cheap.filter(({ isGone }) => !isGone);
    this.#dear = this.#dear.filter(({ isGone }) => !isGone);
  }

  #removeNewest(entries: CacheEntry[]): void {
    const inUse: CacheEntry[] = [];
    while (this.#isOver) {
      const entry = entries.pop();
      if (entry === undefined) break;
      if (entry.users === 0) this.#remove(entry);
      else inUse.push(entry);
    }
    entries.push(...inUse.reverse());
  }

  #remove(entry: CacheEntry): void {
    if (entry.isGone) return;
    entry.isGone = true;
    this.#kernel.release(entry.allocation);
    entry.drop();
  }
}

/** The use of the cache by one step. What it gets or puts stays until it ends. */
export class CacheStep {
  readonly #cache: ColumnCache;
  readonly #used: CacheEntry[] = [];

  constructor(cache: ColumnCache) {
    this.#cache = cache;
  }

  get<Name>(shelf: Shelf<Name>, name: Name): LoadedColumn | undefined {
    const entry = shelf.get(name);
    if (entry === undefined) return undefined;
    if (entry.step !== this) this.#use(entry);
    return entry.column;
  }

  /** Keeps a column that takes the allocation; `drop` tells its user when it goes. */
  put<Name>(
    shelf: Shelf<Name>,
    name: Name,
    { column, allocation }: { column: LoadedColumn; allocation: number },
    { isDear, drop = () => {} }: { isDear: boolean; drop?: () => void },
  ): void {
    const entry: CacheEntry = {
      column,
      allocation,
      drop: () => {
        shelf.delete(name);
        drop();
      },
      step: undefined,
      users: 0,
      usedAt: 0,
      isGone: false,
    };
    this.#cache.add(entry, isDear);
    shelf.set(name, entry);
    this.#use(entry);
  }

  end(): void {
    for (const entry of this.#used) {
      entry.users--;
      if (entry.step === this) entry.step = undefined;
    }
    this.#used.length = 0;
  }

  #use(entry: CacheEntry): void {
    entry.step = this;
    entry.usedAt = this.#cache.nextUse();
    entry.users++;
    this.#used.push(entry);
  }
}
