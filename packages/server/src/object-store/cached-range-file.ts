/** Reads a cached object by range in a worker thread. Bytes that are not on the disk yet are fetched by another thread. */
import { closeSync, openSync, readSync } from 'node:fs';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { ByteRange } from './object-store.ts';
import { cacheFilePath, Presence } from './presence.ts';

/** The location of an object's cache file, for a worker thread. */
export interface CachedLocation {
  readonly kind: 'cached';
  /** The folder of the cache. The presence has the number of the file in it. */
  readonly folder: string;
  readonly byteLength: number;
  readonly presence: SharedArrayBuffer;
}

/** The share of an object, at its end, that is fetched first. It contains the directory of a segment, which grows with the segment. */
const tailShare = 1 / 256;
const tailBytesMin = 16 << 10;
const tailBytesMax = 128 << 10;
/** A smaller object is fetched as a whole: a request takes as long as the transfer of a few megabytes. */
const wholeBytesMax = 1 << 20;
/** The limit of evictions during one read. A cache that exceeds it is far too small. */
const attemptCountMax = 16;

/** Returns the parts of an object that every reader needs first. */
export function openingRanges(byteLength: number): ByteRange[] {
  if (byteLength <= wholeBytesMax) return [{ start: 0, end: byteLength }];
  const tail = Math.min(tailBytesMax, Math.max(tailBytesMin, byteLength * tailShare));
  return [
    { start: 0, end: Math.min(1, byteLength) },
    { start: Math.max(0, Math.floor(byteLength - tail)), end: byteLength },
  ];
}

/** Returns the opening ranges that are not in the cache file. */
export function missingOpening({ presence, byteLength }: CachedLocation): ByteRange[] {
  const present = new Presence(presence, byteLength);
  return openingRanges(byteLength).filter((range) => !present.covers(range));
}

export interface RangeFetcher {
  /** Returns when the ranges are in the cache file, or throws. */
  readonly fetchNow: (ranges: readonly ByteRange[]) => void;
  /** Begins to fetch ranges that will probably be needed. */
  readonly fetchAhead: (ranges: readonly ByteRange[]) => void;
}

export class CachedRangeFile {
  readonly length: number;
  readonly #folder: string;
  readonly #presence: Presence;
  readonly #fetcher: RangeFetcher;
  /** Opened at the first read, because an object of which nothing is cached has no file. */
  #open: { readonly fileNumber: number; readonly descriptor: number } | undefined;

  constructor({ folder, byteLength, presence }: CachedLocation, fetcher: RangeFetcher) {
    this.length = byteLength;
    this.#folder = folder;
    this.#presence = new Presence(presence, byteLength);
    this.#fetcher = fetcher;
  }

  /** Fetches the parts that a reader needs first, together. */
  fetchOpening(): void {
    const ranges = this.missing(openingRanges(this.length));
    if (ranges.length > 0) this.#fetcher.fetchNow(ranges);
  }

  read(offset: number, length: number): Uint8Array {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.length - offset)));
    return bytes.subarray(0, this.readInto(offset, bytes));
  }

  readInto(offset: number, target: Uint8Array): number {
    const range = { start: offset, end: Math.min(offset + target.length, this.length) };
    for (let attempt = 0; attempt < attemptCountMax; attempt++) {
      const { fileNumber } = this.#presence;
      if (!this.#presence.covers(range)) {
        this.#fetcher.fetchNow([range]);
        continue;
      }
      const part = target.subarray(0, range.end - range.start);
      const result = this.#tryRead(fileNumber, offset, part);
      // An eviction during the read may have replaced the bytes by zeros, or removed the file before it was opened.
      if (this.#presence.fileNumber !== fileNumber) continue;
      if (typeof result === 'number') return result;
      const reason = systemErrorCode(result.cause) ?? 'unknown';
      throw new CodedError('cache-failed', { reason }, result);
    }
    throw new CodedError('cache-too-small');
  }

  /** Announces reads, so that their bytes are fetched together. Returns when they are in the cache file. */
  expect(ranges: readonly ByteRange[]): void {
    const missing = this.missing(ranges);
    if (missing.length > 0) this.#fetcher.fetchNow(missing);
  }

  /** Announces reads that come later, so that their bytes are fetched meanwhile. */
  fetchAhead(ranges: readonly ByteRange[]): void {
    if (ranges.length > 0) this.#fetcher.fetchAhead(ranges);
  }

  /** Returns the ranges that are not in the cache file. */
  missing(ranges: readonly ByteRange[]): ByteRange[] {
    return ranges.filter((range) => !this.#presence.covers(range));
  }

  close(): void {
    if (this.#open !== undefined) closeSync(this.#open.descriptor);
    this.#open = undefined;
  }

  /** Returns the number of bytes, or the cause of the failure. */
  #tryRead(fileNumber: number, offset: number, target: Uint8Array): number | { cause: unknown } {
    try {
      return readFully(this.#openFile(fileNumber), offset, target);
    } catch (cause) {
      return { cause };
    }
  }

  #openFile(fileNumber: number): number {
    if (this.#open?.fileNumber !== fileNumber) {
      this.close();
      const descriptor = openSync(cacheFilePath(this.#folder, fileNumber), 'r');
      this.#open = { fileNumber, descriptor };
    }
    return this.#open.descriptor;
  }
}

function readFully(descriptor: number, offset: number, target: Uint8Array): number {
  let filled = 0;
  while (filled < target.length) {
    const rest = target.length - filled;
    const count = readSync(descriptor, target, filled, rest, offset + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}
