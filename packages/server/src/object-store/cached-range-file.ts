/** Reads a cached object by range in a worker thread. Bytes that are not on the disk yet are fetched by another thread. */
import { closeSync, openSync, readSync } from 'node:fs';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { ByteRange } from './object-store.ts';
import { Presence } from './presence.ts';

/** The location of an object's cache file, for a worker thread. */
export interface CachedLocation {
  readonly kind: 'cached';
  readonly path: string;
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
  readonly #descriptor: number;
  readonly #presence: Presence;
  readonly #fetcher: RangeFetcher;

  constructor(firstLeft: CachedLocation, fetcher: RangeFetcher) {
    this.length = firstLeft.byteLength;
    this.#descriptor = openOrThrow(firstLeft.path);
    this.#presence = new Presence(firstLeft.presence, firstLeft.byteLength);
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
      const { generation } = this.#presence;
      if (!this.#presence.covers(range)) {
        this.#fetcher.fetchNow([range]);
        continue;
      }
      const count = this.#readFile(offset, target.subarray(0, range.end - range.start));
      // An eviction during the read may have replaced the bytes by zeros.
      if (this.#presence.generation === generation) return count;
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
    closeSync(this.#descriptor);
  }

  #readFile(offset: number, target: Uint8Array): number {
    let filled = 0;
    while (filled < target.length) {
      const rest = target.length - filled;
      const count = readSync(this.#descriptor, target, filled, rest, offset + filled);
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }
}

function openOrThrow(path: string): number {
  const failed = (cause: unknown) =>
    new CodedError('cache-failed', { reason: systemErrorCode(cause) ?? 'unknown' }, { cause });
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw failed(error);
  }
}
