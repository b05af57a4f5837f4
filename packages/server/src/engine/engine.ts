/**
 * Evaluates queries on segments on one thread: load, select, write. It never waits: the caller provides segments whose bytes can be read
 * synchronously, and takes the text in pieces.
 */
import { assert } from '@sluice/base/assert';
import type { Steps } from '@sluice/base/time-slices';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import type { Selection } from '../query/query.ts';
import { openSegment, type Segment, type SegmentBytes } from '../segment/read/open-segment.ts';
import { EngineKernel } from './engine-kernel.ts';
import { EngineSegment } from './engine-segment.ts';
import { type Lookup, type LookupResults, runLookup } from './lookup/lookup.ts';
import { type BlockRange, type RunOptions, type RunReport, SegmentRun } from './segment-run.ts';

export interface EngineOptions {
  /** The bytes that segments may use between queries: indexes, dictionaries, texts of keys. */
  readonly cacheBytesMax: number;
}

export class Engine {
  readonly #kernel = new EngineKernel();
  readonly #cacheBytesMax: number;
  readonly #sources = new Map<string, Uint8Array | SegmentBytes>();
  /** Open segments, least recently used first. */
  readonly #segments = new Map<string, EngineSegment>();
  /** Segments that may have grown since they were last counted. */
  readonly #growing = new Set<EngineSegment>();
  #cachedBytes = 0;
  #idls = new IdlRegistry();

  constructor(options: EngineOptions) {
    this.#cacheBytesMax = options.cacheBytesMax;
  }

  /** The bytes of kernel memory in use, including the cache. */
  get allocatedBytes(): number {
    return this.#kernel.allocatedBytes;
  }

  /** Later runs decode by these IDLs, and by those of the ledger's own programs. */
  useIdls(idls: IdlRegistry): void {
    this.#idls = idls;
  }

  /** Opens a segment under a key that identifies it permanently. */
  open(key: string, bytes: Uint8Array | SegmentBytes): Segment {
    if (!this.#sources.has(key)) this.#sources.set(key, bytes);
    return this.#opened(key).segment;
  }

  has(key: string): boolean {
    return this.#sources.has(key);
  }

  /** Closes a segment and frees everything that was cached for it. */
  close(key: string): void {
    const open = this.#segments.get(key);
    if (open !== undefined) this.#unload(open);
    this.#sources.delete(key);
  }

  covers(key: string, { first, last }: BlockRange): boolean {
    const { headers } = this.#opened(key).segment;
    return headers.firstAtOrAfter(first) < headers.firstAtOrAfter(last + 1);
  }

  /** Plans a query on one open segment. The run holds kernel memory until it is released. */
  begin(key: string, selection: Selection, options: RunOptions = {}): SegmentRun {
    const open = this.#opened(key);
    this.#growing.add(open);
    return new SegmentRun(open, selection, { idls: this.#idls, ...options }, this.#kernel);
  }

  /** Returns the lines from one open segment in pieces. The last piece ends with a line, and most others do. */
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

  *lookUp(key: string, lookup: Lookup): Steps<LookupResults[keyof LookupResults]> {
    const open = this.#opened(key);
    this.#growing.add(open);
    open.enter();
    try {
      const write = (selection: Selection, transaction: number) => {
        // With a range, the other blocks of the segment are not looked at.
        const slot = open.segment.headers.numberAt(open.blockOf(transaction));
        const range = { first: slot, last: slot };
        return this.run(key, selection, { range, only: Uint32Array.of(transaction) });
      };
      const begin = (selection: Selection, options: RunOptions) =>
        this.begin(key, selection, options);
      return yield* runLookup(lookup, { open, kernel: this.#kernel, write, begin });
    } finally {
      open.leave();
    }
  }

  /** Returns the segment with its directory, which is read again if the segment was evicted. */
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
    for (const each of this.#growing) {
      this.#count(each);
      if (each.users === 0) this.#growing.delete(each);
    }
    this.#evict(key);
    return open;
  }

  /** A segment grows while runs read it, so it is counted whenever a run begins and again after the last run. */
  #count(open: EngineSegment): void {
    const { byteLength, countedBytes } = open;
    this.#cachedBytes += byteLength - countedBytes;
    open.countedBytes = byteLength;
  }

  #evict(keptKey: string): void {
    for (const [key, open] of this.#segments) {
      if (this.#cachedBytes <= this.#cacheBytesMax) return;
      if (key !== keptKey && open.users === 0) this.#unload(open);
    }
  }

  #unload(open: EngineSegment): void {
    assert(open.users === 0, 'a segment is evicted when no run reads it');
    this.#segments.delete(open.key);
    this.#growing.delete(open);
    this.#cachedBytes -= open.countedBytes;
    open.release();
  }
}

/** Allocated without zeroing, because all of it is overwritten. */
function copyOf(piece: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(piece.length);
  copy.set(piece);
  return copy;
}
