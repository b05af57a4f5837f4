/** The segments of a dataset in an object store, read through a cache on the local disk. */
import { crc32 } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import { discard } from '@sluice/base/memory/discard';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import type { RemoteSegment } from '../dataset/dataset-reader.ts';
import type { BuiltSegment } from '../dataset/merge/built-segment.ts';
import type { SegmentFiles } from '../dataset/segment-files.ts';
import { describeBuilt } from '../dataset/segment-store.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { CachedObject } from '../object-store/cached-object.ts';
import { openingRanges } from '../object-store/cached-range-file.ts';
import type { ObjectCache } from '../object-store/object-cache.ts';
import type { ByteRange, ObjectStore } from '../object-store/object-store.ts';
import { readSegmentHeaders } from '../segment/read/open-segment.ts';

export interface BucketSegmentsDependencies {
  readonly store: ObjectStore;
  readonly cache: ObjectCache;
}

export class BucketSegments implements SegmentFiles {
  readonly #folder: string;
  readonly #dependencies: BucketSegmentsDependencies;
  /** Segments that are being written, or whose commit is not durable yet. */
  readonly #uncommitted = new Set<string>();

  constructor(dataset: string, dependencies: BucketSegmentsDependencies) {
    this.#folder = `${dataset}/segments`;
    this.#dependencies = dependencies;
  }

  path(segment: SealedSegment): string {
    return this.#cached(segment).location.path;
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
  async write(built: BuiltSegment, headers: readonly BlockHeader[]): Promise<SealedSegment> {
    const segment = describeBuilt(built, headers);
    this.#uncommitted.add(segment.id);
    try {
      await this.upload(segment, Buffer.concat(built.parts));
      await this.#cached(segment).admit(built.parts);
    } catch (error) {
      this.settle(segment);
      throw error;
    }
    for (const { buffer } of built.parts) discard(new Uint8Array(buffer));
    return segment;
  }

  async upload(segment: SealedSegment, bytes: Uint8Array): Promise<void> {
    const { store } = this.#dependencies;
    await store.put(this.keyOf(segment), bytes);
    const stored = await store.head(this.keyOf(segment));
    if (stored?.byteLength === bytes.length) return;
    throw new CodedError('store-upload-differs', { segment: segment.id });
  }

  /** Ends the protection of the local copy. The collector of the bucket does not remove new objects for hours. */
  settle(segment: SealedSegment): void {
    this.#uncommitted.delete(segment.id);
  }

  async collect(needed: ReadonlySet<string>): Promise<void> {
    for (const name of this.#dependencies.cache.names()) {
      if (!needed.has(name) && !this.#uncommitted.has(name)) this.#dependencies.cache.remove(name);
    }
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

  keyOf({ id }: SealedSegment): string {
    return `${this.#folder}/${id}`;
  }

  #cached(segment: SealedSegment): CachedObject {
    return this.#dependencies.cache.use(segment.id, this.keyOf(segment), segment.byteLength);
  }
}

/** A segment's name ends with the checksum of its content. */
export function checksumOf({ id }: SealedSegment): number {
  return Number.parseInt(/-([0-9a-f]{8})\.segment$/.exec(id)?.[1] ?? '', 16);
}
