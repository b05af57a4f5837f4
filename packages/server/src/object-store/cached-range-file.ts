/** Reads a cached object by range in a worker thread. Bytes that are not on the disk yet are fetched by another thread. */
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { openRangeFile, type RangeFile } from '../storage/range-file.ts';
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
  #open: { readonly fileNumber: number; readonly file: RangeFile } | undefined;
  readonly #openRange: (path: string) => RangeFile;

  constructor(
    { folder, byteLength, presence }: CachedLocation,
    fetcher: RangeFetcher,
    openRange: (path: string) => RangeFile = openRangeFile,
  ) {
    this.length = byteLength;
    this.#openRange = openRange;
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
      const { cause } = result;
      const reason = systemErrorCode(cause instanceof CodedError ? cause.cause : cause);
      throw new CodedError('cache-failed', { reason: reason ?? 'unknown' }, { cause });
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
    this.#open?.file.close();
    this.#open = undefined;
  }

  /** Returns the number of bytes, or the cause of the failure. */
  #tryRead(fileNumber: number, offset: number, target: Uint8Array): number | { cause: unknown } {
    try {
      return this.#openFile(fileNumber).readInto(offset, target);
    } catch (cause) {
      return { cause };
    }
  }

  #openFile(fileNumber: number): RangeFile {
    if (this.#open?.fileNumber === fileNumber) return this.#open.file;
    this.close();
    const file = this.#openRange(cacheFilePath(this.#folder, fileNumber));
    this.#open = { fileNumber, file };
    return file;
  }
}
