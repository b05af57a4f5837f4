/** The segments of a dataset in an object store, with their lists and indexes, read through a cache on the local disk. */
import { crc32 } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { discard } from '@sluice/base/memory/discard';
import type { BlockHeader } from '@sluice/ledger/block';
import type { IndexRun, SealedSegment, SegmentList } from '../chain/chain-snapshot.ts';
import { type ListContent, listFile, segmentFile } from '../chain/segment-lists.ts';
import type { RemoteSegment } from '../dataset/dataset-reader.ts';
import type { IndexInputs, MakeIndex, OpenIndexFile } from '../dataset/history/index-thread.ts';
import { parseList } from '../dataset/list-files.ts';
import type { SegmentFiles } from '../dataset/segment-files.ts';
import type { CachedObject } from '../object-store/cached-object.ts';
import { openingRanges } from '../object-store/cached-range-file.ts';
import type { ObjectCache } from '../object-store/object-cache.ts';
import type { ByteRange, ObjectStore } from '../object-store/object-store.ts';
import type { IndexShape } from '../segment/history/layout.ts';
import { readSegmentHeaders } from '../segment/read/open-segment.ts';
import type { Fs } from '../storage/fs.ts';
import { BucketIndexes, type BucketIndexesOptions, indexOfPiece } from './bucket-indexes.ts';

export interface BucketSegmentsDependencies {
  readonly store: ObjectStore;
  readonly cache: ObjectCache;
  readonly fs: Fs;
}

export class BucketSegments implements SegmentFiles {
  readonly isLocal = false;
  readonly #dataset: string;
  readonly #dependencies: BucketSegmentsDependencies;
  readonly indexes: BucketIndexes;

  constructor(options: BucketIndexesOptions, dependencies: BucketSegmentsDependencies) {
    this.#dataset = options.dataset;
    this.#dependencies = dependencies;
    const readSegment = (segment: SealedSegment) => this.#readThroughCache(segment);
    this.indexes = new BucketIndexes(options, { ...dependencies, readSegment });
  }

  path({ id }: SealedSegment): string {
    assert(false, `segment ${id} is read by ranges, see remote`);
  }

  remote(segment: SealedSegment): RemoteSegment {
    const cached = this.#cached(segment);
    return {
      location: cached.location,
      fetch: (ranges, urgency) =>
        urgency === 'ahead' ? cached.fetchAhead(ranges) : cached.fetch(ranges),
    };
  }

  /** Reads a whole segment from the store and verifies it by the checksum in its name. A part is read from the cache, unverified. */
  async read(segment: SealedSegment, range?: ByteRange): Promise<Uint8Array> {
    if (range !== undefined)
      return this.#cached(segment).read(range.start, range.end - range.start);
    const bytes = await this.#dependencies.store.get(this.keyOf(segment));
    const isSame = bytes.length === segment.byteLength && crc32(bytes) === checksumOf(segment);
    if (!isSame) throw new CodedError('segment-damaged', { segment: segment.id });
    return bytes;
  }

  /** Segments that are indexed were just uploaded, so the cache usually has them. A small cache cannot hold a large segment. */
  async #readThroughCache(segment: SealedSegment): Promise<Uint8Array> {
    try {
      return await this.#cached(segment).read(0, segment.byteLength);
    } catch (error) {
      if (!isCodedError(error, 'cache-too-small')) throw error;
      return this.read(segment);
    }
  }

  async readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    const cached = this.#cached(segment);
    const { byteLength: length } = segment;
    await cached.fetch(openingRanges(length));
    const read = (offset: number, count: number) => cached.read(offset, count);
    return readSegmentHeaders({ length, read });
  }

  /**
   * Uploads a segment. The store verifies its checksum, and the length is read back, before the caller commits a manifest that names
   * the segment.
   */
  async write(segment: SealedSegment, parts: readonly Uint8Array[]): Promise<void> {
    await this.upload(segment, Buffer.concat(parts));
    await this.#cached(segment).admit(parts);
    for (const { buffer } of parts) discard(new Uint8Array(buffer));
  }

  async readList(list: SegmentList): Promise<ListContent> {
    const bytes = await this.#dependencies.store.get(this.listKeyOf(list));
    return parseList(list, bytes);
  }

  writeList(list: SegmentList, bytes: Uint8Array): Promise<void> {
    return this.#dependencies.store.put(this.listKeyOf(list), bytes);
  }

  async openIndex(run: IndexRun): Promise<OpenIndexFile> {
    return this.indexes.open(run);
  }

  makeIndex(inputs: IndexInputs, make: MakeIndex, signal: AbortSignal): Promise<IndexShape> {
    return this.indexes.make(inputs, make, signal);
  }

  /** Removes only the local copies. The collector of the bucket knows when no process needs an object any more. */
  async remove(files: readonly string[]): Promise<readonly string[]> {
    const names = new Set(files.map((file) => file.slice(file.indexOf('/') + 1)));
    const { cache } = this.#dependencies;
    for (const name of cache.names())
      if (names.has(name) || names.has(indexOfPiece(name))) cache.remove(name);
    return [];
  }

  async upload(segment: SealedSegment, bytes: Uint8Array): Promise<void> {
    const { store } = this.#dependencies;
    await store.put(this.keyOf(segment), bytes);
    const stored = await store.head(this.keyOf(segment));
    if (stored?.byteLength === bytes.length) return;
    throw new CodedError('store-upload-differs', { segment: segment.id });
  }

  /** Removes the local copy of a segment, so that the next read fetches it again. */
  evict(segment: SealedSegment): void {
    this.#cached(segment).evict();
  }

  /** Verifies the object in the store. If it is valid, it replaces the local copy. */
  async repair(segment: SealedSegment): Promise<void> {
    const bytes = await this.read(segment);
    this.evict(segment);
    await this.#cached(segment).admit([bytes]);
  }

  keyOf(segment: SealedSegment): string {
    return `${this.#dataset}/${segmentFile(segment)}`;
  }

  listKeyOf(list: SegmentList): string {
    return `${this.#dataset}/${listFile(list)}`;
  }

  #cached(segment: SealedSegment): CachedObject {
    return this.#dependencies.cache.use(segment.id, this.keyOf(segment), segment.byteLength);
  }
}

/** A segment's name ends with the checksum of its content. */
export function checksumOf({ id }: SealedSegment): number {
  return Number.parseInt(/-([0-9a-f]{8})\.segment$/.exec(id)?.[1] ?? '', 16);
}
