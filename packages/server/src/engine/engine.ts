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
import { type BlockRange, type RunOptions, type RunReport, SegmentRun } from './segment-run.ts';

export interface EngineOptions {
  /** Bytes of loaded columns and pages that are kept. */
  readonly cacheBytesMax: number;
}

export class Engine {
  readonly #kernel = new EngineKernel();
  readonly #cache: ColumnCache;
  readonly #segments = new Map<string, EngineSegment>();

  constructor(options: EngineOptions) {
    this.#cache = new ColumnCache(this.#kernel, options.cacheBytesMax);
  }

  /** The bytes of kernel memory in use, the cache included. */
  get allocatedBytes(): number {
    return this.#kernel.allocatedBytes;
  }

  /** Opens a segment under a key that names it for good. */
  open(key: string, bytes: Uint8Array | SegmentBytes): Segment {
    const known = this.#segments.get(key);
    if (known !== undefined) return known.segment;
    const open = new EngineSegment(openSegment(bytes), key, this.#kernel);
    this.#segments.set(key, open);
    return open.segment;
  }

  has(key: string): boolean {
    return this.#segments.has(key);
  }

  /** Forgets a segment and what the cache holds of it. */
  close(key: string): void {
    const open = this.#opened(key);
    this.#cache.drop(open.key);
    this.#kernel.release(open.pageTable);
    this.#segments.delete(key);
  }

  /** Whether an open segment has a block in the range. */
  covers(key: string, { first, last }: BlockRange): boolean {
    return this.#opened(key).segment.headers.some(
      ({ number }) => number >= first && number <= last,
    );
  }

  /** Plans a query on one open segment. The run holds memory of the kernel until it is released. */
  begin(key: string, selection: Selection, options: RunOptions = {}): SegmentRun {
    const modules = { kernel: this.#kernel, cache: this.#cache };
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
      yield* run.pieces();
    } finally {
      run.release();
    }
    return run.report;
  }

  #opened(key: string): EngineSegment {
    const open = this.#segments.get(key);
    assert(open !== undefined, 'a segment is opened before it is used');
    return open;
  }
}
