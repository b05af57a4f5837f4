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

interface CacheEntry {
  readonly column: LoadedColumn;
  readonly allocation: number;
  readonly drop: () => void;
  /** How many steps use it now. */
  users: number;
}

/**
 * Loaded columns and pages, kept up to a number of bytes. The one unused for longest goes first, but never one that a
 * step is using: a step is one row group, and needs all it touched until its text is written.
 */
export class ColumnCache {
  readonly #kernel: EngineKernel;
  readonly #bytesMax: number;
  /** In order of use: a hit is deleted and set again. */
  readonly #entries = new Map<string, CacheEntry>();

  constructor(kernel: EngineKernel, bytesMax: number) {
    this.#kernel = kernel;
    this.#bytesMax = bytesMax;
  }

  beginStep(): CacheStep {
    this.#shrink();
    return new CacheStep(this.#entries);
  }

  /** Lets go of everything of one segment, of which no step may be left. */
  drop(segmentKey: string): void {
    for (const [key, entry] of this.#entries) {
      if (!key.startsWith(`${segmentKey}/`)) continue;
      assert(entry.users === 0, 'a segment is closed when nobody reads it');
      this.#remove(key, entry);
    }
  }

  #shrink(): void {
    if (this.#kernel.allocatedBytes <= this.#bytesMax) return;
    for (const [key, entry] of this.#entries) {
      if (entry.users > 0) continue;
      this.#remove(key, entry);
      if (this.#kernel.allocatedBytes <= this.#bytesMax) return;
    }
  }

  #remove(key: string, entry: CacheEntry): void {
    this.#entries.delete(key);
    this.#kernel.release(entry.allocation);
    entry.drop();
  }
}

/** The use of the cache by one step. What it gets or puts stays until it ends. */
export class CacheStep {
  readonly #entries: Map<string, CacheEntry>;
  readonly #used = new Map<string, CacheEntry>();

  constructor(entries: Map<string, CacheEntry>) {
    this.#entries = entries;
  }

  get(key: string): LoadedColumn | undefined {
    const used = this.#used.get(key);
    if (used !== undefined) return used.column;
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#use(key, entry);
    return entry.column;
  }

  /** Keeps a column that takes the allocation; `drop` tells its user when it goes. */
  put(key: string, column: LoadedColumn, allocation: number, drop: () => void = () => {}): void {
    const entry = { column, allocation, drop, users: 0 };
    this.#entries.set(key, entry);
    this.#use(key, entry);
  }

  end(): void {
    for (const entry of this.#used.values()) entry.users--;
    this.#used.clear();
  }

  #use(key: string, entry: CacheEntry): void {
    entry.users++;
    this.#used.set(key, entry);
  }
}
