import { assert } from '../base/assert.ts';
import type { EngineKernel } from './engine-kernel.ts';

/** A column as the kernels use it: values, or a pool of what is different among them. */
export interface LoadedColumn {
  /** Where the values are, or the pool. */
  readonly at: number;
  /** Bytes a value, or an offset in the pool: 1, 2, 4, 8 or 16. */
  readonly width: number;
  readonly count: number;
  /** By row the offset of its entry in the pool; 0 if this is none. */
  readonly offsets: number;
}

/** A column and the allocation it is in. */
export interface Loaded {
  readonly column: LoadedColumn;
  readonly allocation: number;
}

/** The loaded columns of one row group, or the pages of one segment, by name. */
export type Shelf<Name = string | number> = Map<Name, CacheEntry>;

interface CacheEntry {
  readonly column: LoadedColumn;
  readonly allocation: number;
  /** Tells whoever points to it that it is gone. */
  readonly drop: () => void;
  /** The last step that used it. */
  step: CacheStep | undefined;
  /** How many steps use it now. */
  users: number;
  /** The number of the use that was its last. */
  usedAt: number;
  /** Its memory is free. It stays on its shelf to tell, should it come back, how long that took. */
  isGone: boolean;
}

/** What the newest of the brief may take of the cache, and how many uses of anything later they serve nobody any more. */
const briefShare = 1 / 8;
const briefUseCount = 2_048;
/** How much longer than those that came back something must have been unused to make room for them. */
const idleFactor = 1.25;

/**
 * Loaded columns and pages, kept up to a number of bytes. Queries go through the same columns round and round, and a round
 * that is larger than the cache must not evict each column just before it is needed again. So the newest go, those first
 * that cost little to load again, unless others have been unused for longer than it took what went to come back.
 * What is brief serves a few steps and then nobody: of that the oldest go, before anything else, and no step holds it.
 *
 * Nothing that a step is using goes: a step is one row group, and needs all it touched until its text is written.
 */
export class ColumnCache {
  readonly #kernel: EngineKernel;
  readonly #bytesMax: number;
  /** In the order they came; those that are gone are taken out now and then. */
  #brief: CacheEntry[] = [];
  #cheap: CacheEntry[] = [];
  #dear: CacheEntry[] = [];
  #useCount = 0;
  /** The least number of uses after which something came back since idle entries were last looked for. */
  #returnUses = Infinity;
  /** The use at which they were. */
  #lookedAt = 0;
  /** What was idle then, the last the longest, and the use since which it may not have been used. */
  #idle: CacheEntry[] = [];
  #idleBefore = 0;

  constructor(kernel: EngineKernel, bytesMax: number) {
    this.#kernel = kernel;
    this.#bytesMax = bytesMax;
  }

  beginStep(): CacheStep {
    if (this.#isOver) this.#removeBrief();
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

  /** For steps: an entry that nobody uses yet. What is brief and too much goes at once. */
  offer(entry: CacheEntry): void {
    entry.usedAt = this.nextUse();
    this.#brief.push(entry);
    if (this.#isOver) this.#removeBrief();
  }

  /** For steps: an entry that came, in place of one that is gone if it was there before. */
  add(entry: CacheEntry, isDear: boolean, gone: CacheEntry | undefined): void {
    (isDear ? this.#dear : this.#cheap).push(entry);
    if (gone !== undefined)
      this.#returnUses = Math.min(this.#returnUses, this.#useCount - gone.usedAt);
  }

  /** The number of a use. */
  nextUse(): number {
    return this.#useCount++;
  }

  get #isOver(): boolean {
    return this.#kernel.allocatedBytes > this.#bytesMax;
  }

  /** The newest keep a share: the steps after this one may come to them, and would read them again and again. */
  #removeBrief(): void {
    const usedBefore = this.#useCount - briefUseCount;
    let keptBytes = 0;
    const newest = this.#brief.reverse().filter((entry) => {
      keptBytes += entry.column.count * entry.column.width;
      const isOld = entry.usedAt < usedBefore || keptBytes > this.#bytesMax * briefShare;
      if (isOld) this.#remove(entry);
      return !entry.isGone;
    });
    this.#brief = newest.reverse();
  }

  /** As many as there must be, the one unused for longest first: a few that came back soon need not cost all others. */
  #removeIdle(): void {
    this.#findIdle();
    while (this.#isOver) {
      const entry = this.#idle.pop();
      if (entry === undefined) return;
      if (entry.usedAt < this.#idleBefore && entry.users === 0) this.#remove(entry);
    }
  }

  /** Looking at all entries costs something: it is done now and then. */
  #findIdle(): void {
    const size = this.#cheap.length + this.#dear.length;
    if (this.#returnUses === Infinity || this.#useCount - this.#lookedAt < size / 8) return;
    this.#lookedAt = this.#useCount;
    this.#idleBefore = this.#useCount - this.#returnUses * idleFactor;
    this.#returnUses = Infinity;
    this.#cheap = this.#cheap.filter(({ isGone }) => !isGone);
    this.#dear = this.#dear.filter(({ isGone }) => !isGone);
    this.#idle = [...this.#cheap, ...this.#dear].filter(({ usedAt }) => usedAt < this.#idleBefore);
    this.#idle.sort((a, b) => b.usedAt - a.usedAt);
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

function entryOf({ column, allocation }: Loaded, drop: () => void): CacheEntry {
  return { column, allocation, drop, step: undefined, users: 0, usedAt: 0, isGone: false };
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
    if (entry === undefined || entry.isGone) return undefined;
    if (entry.step !== this) this.#use(entry);
    return entry.column;
  }

  /** Keeps a column that takes the allocation; `drop` tells its user when it goes. */
  put<Name>(
    shelf: Shelf<Name>,
    name: Name,
    { column, allocation }: Loaded,
    { isDear, drop = () => {} }: { isDear: boolean; drop?: () => void },
  ): void {
    const entry = entryOf({ column, allocation }, drop);
    this.#cache.add(entry, isDear, shelf.get(name));
    shelf.set(name, entry);
    this.#use(entry);
  }

  /** What is there of something brief, good until anything is allocated. */
  peek<Name>(shelf: Shelf<Name>, name: Name): LoadedColumn | undefined {
    const entry = shelf.get(name);
    if (entry !== undefined) entry.usedAt = this.#cache.nextUse();
    return entry?.column;
  }

  /** Hands something brief to the cache, which keeps it while there is room: nothing but `peek` finds it. */
  offer<Name>(shelf: Shelf<Name>, name: Name, loaded: Loaded): void {
    const entry = entryOf(loaded, () => void shelf.delete(name));
    shelf.set(name, entry);
    this.#cache.offer(entry);
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
