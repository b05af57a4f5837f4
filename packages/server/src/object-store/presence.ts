/**
 * Which parts of an object are in its cache file: one bit for each granule, in memory that all threads share.
 *
 *   word 0    the generation, which is incremented when the content was evicted
 *   word 1…   bits, 32 granules per word
 *
 * A reader has read the right bytes if its granules were present before the read and the generation has not changed after it.
 */
import type { ByteRange } from './object-store.ts';

/** The block size of common file systems, so that the disk usage of a sparse file equals the number of bits times this size. */
export const granuleBytes = 4_096;

/** Runs of missing granules that are this close are fetched by one request: another request would take as long as reading 32 KiB more. */
const gapGranules = 8;
/** A longer run is fetched by several requests at the same time. */
const runGranules = 1_024;

export class Presence {
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #byteLength: number;

  constructor(buffer: SharedArrayBuffer, byteLength: number) {
    this.words = new Int32Array(buffer);
    this.#byteLength = byteLength;
  }

  static create(byteLength: number): Presence {
    const wordCount = 1 + Math.ceil(Math.ceil(byteLength / granuleBytes) / 32);
    return new Presence(new SharedArrayBuffer(wordCount * 4), byteLength);
  }

  get buffer(): SharedArrayBuffer {
    return this.words.buffer;
  }

  get generation(): number {
    return Atomics.load(this.words, 0);
  }

  /** The bytes of all granules that are present. */
  get presentBytes(): number {
    let count = 0;
    for (let granule = 0; granule * granuleBytes < this.#byteLength; granule++) {
      if (this.#has(granule)) count++;
    }
    return count * granuleBytes;
  }

  /** Returns whether all bytes of a range are present. */
  covers({ start, end }: ByteRange): boolean {
    const last = Math.ceil(Math.min(end, this.#byteLength) / granuleBytes);
    for (let granule = Math.floor(start / granuleBytes); granule < last; granule++) {
      if (!this.#has(granule)) return false;
    }
    return true;
  }

  /** Marks the granules of a range, which must start and end at a granule or at the end of the object. Returns their new bytes. */
  add({ start, end }: ByteRange): number {
    let added = 0;
    for (let granule = start / granuleBytes; granule * granuleBytes < end; granule++) {
      const before = Atomics.or(this.words, 1 + (granule >> 5), 1 << (granule & 31));
      if ((before & (1 << (granule & 31))) === 0) added++;
    }
    return added * granuleBytes;
  }

  /**
   * Marks all granules as missing, and then increments the generation: a reader that sees the new generation must not see
   * the old granules, and one that saw them notices the new generation after its read.
   */
  clear(): void {
    for (let word = 1; word < this.words.length; word++) Atomics.store(this.words, word, 0);
    Atomics.add(this.words, 0, 1);
  }

  /**
   * Plans the requests for the missing bytes of ranges: aligned to granules, coalesced over small gaps, ascending. Bytes of
   * `pending` requests, which begin and end with a granule or with the object, need no other request.
   */
  planRuns(ranges: readonly ByteRange[], pending: readonly ByteRange[] = []): ByteRange[] {
    const missing = new Set<number>();
    for (const { start, end } of ranges) {
      const last = Math.ceil(Math.min(end, this.#byteLength) / granuleBytes);
      for (let granule = Math.floor(start / granuleBytes); granule < last; granule++) {
        if (!this.#has(granule)) missing.add(granule);
      }
    }
    for (const { start, end } of pending) {
      for (let granule = start / granuleBytes; granule * granuleBytes < end; granule++)
        missing.delete(granule);
    }
    const runs: { start: number; end: number }[] = [];
    for (const granule of [...missing].sort((a, b) => a - b)) {
      const run = runs.at(-1);
      const isNear = run !== undefined && granule - run.end <= gapGranules;
      if (isNear && granule + 1 - run.start <= runGranules) run.end = granule + 1;
      else runs.push({ start: granule, end: granule + 1 });
    }
    return runs.map(({ start, end }) => ({
      start: start * granuleBytes,
      end: Math.min(end * granuleBytes, this.#byteLength),
    }));
  }

  #has(granule: number): boolean {
    return ((Atomics.load(this.words, 1 + (granule >> 5)) >>> (granule & 31)) & 1) === 1;
  }
}
