/**
 * Which parts of an object are in its cache file: one bit for each granule, in memory that all threads share.
 *
 *   bytes 0 to 7    the number of the cache file, or 0 while nothing is cached. It changes when the content is evicted.
 *   then            bits, 32 granules per word
 *
 * A reader has read the right bytes if its granules were present before the read and the number has not changed after it.
 */
import type { ByteRange } from './object-store.ts';

/** The block size of common file systems, so that the disk usage of a sparse file equals the number of bits times this size. */
export const granuleBytes = 4_096;

/** Runs of missing granules that are this close are fetched by one request: another request would take as long as reading 32 KiB more. */
const gapGranules = 8;
/** A longer run is fetched by several requests at the same time. */
const runGranules = 1_024;
const headerBytes = 8;

/** The names of the folders below that of the cache. */
export const subfolderPattern = /^[0-9a-f]{2}$/;

/** Cache files are in 256 folders, because large folders are slow on some file systems. */
export function cacheFilePath(folder: string, fileNumber: number): string {
  return `${folder}/${(fileNumber % 256).toString(16).padStart(2, '0')}/${fileNumber}`;
}

/** Returns the number of granules in runs, see `Presence.runs`. */
export function countGranules(runs: string): number {
  let sum = 0;
  for (let end = -1; end < runs.length; ) {
    const start = runs.indexOf('+', end + 1) + 1;
    if (start === 0) return sum;
    end = runs.indexOf(',', start);
    if (end < 0) end = runs.length;
    sum += Number(runs.slice(start, end));
  }
  return sum;
}

export class Presence {
  readonly buffer: SharedArrayBuffer;
  readonly #byteLength: number;
  readonly #fileNumber: BigInt64Array;
  readonly #bits: Int32Array;

  constructor(buffer: SharedArrayBuffer, byteLength: number) {
    this.buffer = buffer;
    this.#byteLength = byteLength;
    this.#fileNumber = new BigInt64Array(buffer, 0, 1);
    this.#bits = new Int32Array(buffer, headerBytes);
  }

  static create(byteLength: number): Presence {
    const wordCount = Math.ceil(Math.ceil(byteLength / granuleBytes) / 32);
    return new Presence(new SharedArrayBuffer(headerBytes + wordCount * 4), byteLength);
  }

  get fileNumber(): number {
    return Number(Atomics.load(this.#fileNumber, 0));
  }

  /** Marks all granules as missing, then changes the file: a reader that sees the new number must not see the granules of the old file. */
  startFile(fileNumber: number): void {
    for (let word = 0; word < this.#bits.length; word++) Atomics.store(this.#bits, word, 0);
    Atomics.store(this.#fileNumber, 0, BigInt(fileNumber));
  }

  /** The runs of granules that are present, such as `0+1,7900+292`: the first granule and the count of each. */
  get runs(): string {
    const runs: string[] = [];
    const count = Math.ceil(this.#byteLength / granuleBytes);
    for (let granule = 0; granule < count; granule++) {
      if (!this.#has(granule)) continue;
      const start = granule;
      while (granule < count && this.#has(granule)) granule++;
      runs.push(`${start}+${granule - start}`);
    }
    return runs.join();
  }

  addRuns(runs: string): void {
    for (const run of runs.split(',')) {
      const [start = 0, count = 0] = run.split('+').map(Number);
      this.add({ start: start * granuleBytes, end: (start + count) * granuleBytes });
    }
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
      const before = Atomics.or(this.#bits, granule >> 5, 1 << (granule & 31));
      if ((before & (1 << (granule & 31))) === 0) added++;
    }
    return added * granuleBytes;
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
    return ((Atomics.load(this.#bits, granule >> 5) >>> (granule & 31)) & 1) === 1;
  }
}
