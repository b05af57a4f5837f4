/**
 * Answers queries from segments, in one thread: load, select, write. It awaits nothing; whoever runs it hands it segments
 * whose bytes can be read at once, and takes the text in pieces.
 */
import { assert } from '../base/assert.ts';
import type { Selection } from '../query/query.ts';
import { openSegment, type Segment, type SegmentBytes } from '../segment/open-segment.ts';
import { ColumnCache } from './column-cache.ts';
import { EngineKernel } from './engine-kernel.ts';
import { EngineSegment } from './engine-segment.ts';
import { DRIVING_SHARE_MAX } from './plan-items.ts';
import { type BlockRange, type RunOptions, type RunReport, SegmentRun } from './segment-run.ts';

export interface EngineOptions {
  /** Bytes of loaded columns and pages that are kept. A quarter as much may hold directories and address indexes. */
  readonly cacheBytesMax: number;
  /** The share of a segment's transactions up to which the list of an address drives. The one that is fastest by default. */
  readonly drivingShareMax?: number;
}

const indexShare = 0.25;

export class Engine {
  readonly #kernel = new EngineKernel();
  readonly #cache: ColumnCache;
  readonly #indexBytesMax: number;
  readonly #drivingShareMax: number;
  readonly #sources = new Map<string, Uint8Array | SegmentBytes>();
  /** Those whose directory is in memory, in order of use. */
  readonly #segments = new Map<string, EngineSegment>();
  #indexBytes = 0;

  constructor(options: EngineOptions) {
    this.#cache = new ColumnCache(this.#kernel, options.cacheBytesMax);
    this.#indexBytesMax = options.cacheBytesMax * indexShare;
    this.#drivingShareMax = options.drivingShareMax ?? DRIVING_SHARE_MAX;
  }

  /** The bytes of kernel memory in use, the cache included. */
  get allocatedBytes(): number {
    return this.#kernel.allocatedBytes;
  }

  /** Opens a segment under a key that names it for good. */
  open(key: string, bytes: Uint8Array | SegmentBytes): Segment {
    if (!this.#sources.has(key)) this.#sources.set(key, bytes);
    return this.#opened(key).segment;
  }

  has(key: string): boolean {
    return this.#sources.has(key);
  }

  /** Forgets a segment and what is kept of it. */
  close(key: string): void {
    const open = this.#segments.get(key);
    if (open !== undefined) this.#unload(open);
    this.#sources.delete(key);
  }

  /** Whether an open segment has a block in the range. */
  covers(key: string, { first, last }: BlockRange): boolean {
    return this.#opened(key).segment.headers.some(
      ({ number }) => number >= first && number <= last,
    );
  }

  /** Plans a query on one open segment. The run holds memory of the kernel until it is released. */
  begin(key: string, selection: Selection, options: RunOptions = {}): SegmentRun {
    const modules = {
      kernel: this.#kernel,
      cache: this.#cache,
      drivingShareMax: this.#drivingShareMax,
    };
    return new SegmentRun(this.#opened(key), selection, options, modules);
  }

  /** The answer from one open segment, in pieces; most end with a line, all together do. */
  *run(
    key: string,
    selection: Selection,
    options: RunOptions = {},
  ): Generator<Uint8Array, RunReport> {
    const run = this.begin(key, selection, options);
    try {
      for (const piece of run.pieces()) yield copyOf(piece);
    } finally {
      run.release();
    }
    return run.report;
  }

  /** The segment with its directory, read again if it had to make room. */
  #opened(key: string): EngineSegment {
    const source = this.#sources.get(key);
    assert(source !== undefined, 'a segment is opened before it is used');
    let open = this.#segments.get(key);
    if (open === undefined) {
      open = new EngineSegment(openSegment(source), key, this.#kernel);
    } else {
      this.#segments.delete(key);
    }
    this.#segments.set(key, open);
    this.#count(open);
    this.#shrink(key);
    return open;
  }

  /** An index grows while it is used: it is counted whenever a run begins. */
  #count(open: EngineSegment): void {
    const { indexBytes, countedBytes } = open;
    this.#indexBytes += indexBytes - countedBytes;
    open.countedBytes = indexBytes;
  }

  #shrink(keptKey: string): void {
    for (const [key, open] of this.#segments) {
      if (this.#indexBytes <= this.#indexBytesMax) return;
      if (key !== keptKey && open.users === 0) this.#unload(open);
    }
  }

  #unload(open: EngineSegment): void {
    assert(open.users === 0, 'a segment goes when nobody reads it');
    this.#segments.delete(open.key);
    this.#indexBytes -= open.countedBytes;
    for (const shelf of open.shelves) this.#cache.clear(shelf);
    open.release();
  }
}

/** Memory that is not zeroed first: all of it is written. */
function copyOf(piece: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(piece.length);
  copy.set(piece);
  return copy;
}
