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

/** What a user of the cache says of something it keeps there but finds without asking. */
export interface CacheUser {
  /** Whether it was used since this was last asked. */
  takeFresh(): boolean;
  /** Whether it must stay for now. */
  isHeld(): boolean;
  /** It is gone. */
  drop(): void;
}

interface CacheEntry {
  readonly column: LoadedColumn;
  readonly allocation: number;
  readonly user: CacheUser | undefined;
  /** Takes it from its shelf. */
  readonly drop: () => void;
  /** The last step that used it. */
  step: CacheStep;
  /** How many steps use it now. */
  users: number;
  /** Whether it was used since eviction last passed it. */
  isFresh: boolean;
}

/**
 * Loaded columns and pages, kept up to a number of bytes. What was used since the last look stays, and so does every
 * other one of the rest: a scan larger than the cache would else evict each column just before it comes round again.
 * Nothing that a step is using goes: a step is one row group, and needs all it touched until its text is written.
 */
export class ColumnCache {
  readonly #kernel: EngineKernel;
  readonly #bytesMax: number;
  readonly #entries = new Set<CacheEntry>();
  #isSpared = false;

  constructor(kernel: EngineKernel, bytesMax: number) {
    this.#kernel = kernel;
    this.#bytesMax = bytesMax;
  }

  beginStep(): CacheStep {
    this.#shrink();
    return new CacheStep(this.#entries);
  }

  /** Lets go of everything on a shelf, of which no step may be left. */
  clear(shelf: Shelf): void {
    for (const entry of shelf.values()) {
      assert(entry.users === 0, 'a segment is closed when nobody reads it');
      this.#remove(entry);
    }
  }

  #shrink(): void {
    // Twice round is enough for every entry to have been passed stale; what is in use may keep it above the bound.
    let passes = this.#entries.size * 3;
    for (const entry of this.#entries) {
      if (this.#kernel.allocatedBytes <= this.#bytesMax || passes-- === 0) return;
      this.#isSpared = !this.#isSpared;
      const isFresh = entry.user?.takeFresh() === true || entry.isFresh;
      if (entry.users > 0 || isFresh || this.#isSpared || entry.user?.isHeld() === true) {
        entry.isFresh = false;
        this.#entries.delete(entry);
        this.#entries.add(entry);
      } else this.#remove(entry);
    }
  }

  #remove(entry: CacheEntry): void {
    this.#entries.delete(entry);
    this.#kernel.release(entry.allocation);
    entry.drop();
    entry.user?.drop();
  }
}

/** The use of the cache by one step. What it gets or puts stays until it ends. */
export class CacheStep {
  readonly #entries: Set<CacheEntry>;
  readonly #used: CacheEntry[] = [];

  constructor(entries: Set<CacheEntry>) {
    this.#entries = entries;
  }

  get<Name>(shelf: Shelf<Name>, name: Name): LoadedColumn | undefined {
    const entry = shelf.get(name);
    if (entry === undefined) return undefined;
    if (entry.step !== this) this.#use(entry);
    return entry.column;
  }

  /** Keeps a column that takes the allocation. */
  put<Name>(
    shelf: Shelf<Name>,
    name: Name,
    { column, allocation }: { column: LoadedColumn; allocation: number },
    user?: CacheUser,
  ): void {
    const drop = () => void shelf.delete(name);
    const entry = { column, allocation, user, drop, step: this, users: 0, isFresh: true };
    this.#entries.add(entry);
    shelf.set(name, entry);
    this.#use(entry);
  }

  end(): void {
    for (const entry of this.#used) entry.users--;
    this.#used.length = 0;
  }

  #use(entry: CacheEntry): void {
    entry.step = this;
    entry.isFresh = true;
    entry.users++;
    this.#used.push(entry);
  }
}
