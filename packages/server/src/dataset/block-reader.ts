import { discard } from '@sluice/base/memory/discard';
import type { BlockHeader } from '@sluice/ledger/block';
import { LRUCache } from 'lru-cache';
import type { HotBlock, SealedSegment, SegmentList } from '../chain/chain-snapshot.ts';
import type { ListContent } from '../chain/segment-lists.ts';
import type { Payload } from '../storage/journal.ts';
import type { DatasetLimits } from './dataset-limits.ts';
import type { Allocate } from './dataset-reader.ts';
import type { SegmentFiles } from './segment-files.ts';

/** An estimate of the memory that a header takes. */
export const headerMemoryBytes = 400;

export interface BlockReaderDependencies {
  readonly segments: SegmentFiles;
  /** Reads the bytes of a hot block from the journal. The caller owns the buffer. */
  readonly readPayload: (id: number) => Promise<Uint8Array>;
}

/** The number of cached lists of segments. Each takes up to about 40 kilobytes. */
export const listCacheCountMax = 256;

/** Reads hot blocks, the headers of segments and the lists of segments through LRU caches that are limited by size. */
export class BlockReader {
  readonly #dependencies: BlockReaderDependencies;
  readonly #payloadBytesMax: number;
  readonly #payloads: LRUCache<number, Uint8Array>;
  readonly #headers: LRUCache<string, readonly BlockHeader[]>;
  readonly #lists = new LRUCache<string, ListContent>({ max: listCacheCountMax });

  constructor(limits: DatasetLimits, dependencies: BlockReaderDependencies) {
    this.#dependencies = dependencies;
    this.#payloadBytesMax = limits.payloadCacheBytesMax;
    this.#payloads = new LRUCache({
      maxSize: limits.payloadCacheBytesMax,
      sizeCalculation: ({ byteLength }) => byteLength,
      dispose: (bytes) => discard(bytes),
    });
    this.#headers = new LRUCache({
      maxSize: limits.headerCacheBytesMax,
      sizeCalculation: (headers) => headers.length * headerMemoryBytes,
    });
  }

  /** Caches the bytes of new blocks and takes ownership of their buffers. */
  addPayloads(payloads: readonly Payload[]): void {
    for (const { id, bytes } of payloads) {
      if (bytes.byteLength > this.#payloadBytesMax) discard(bytes);
      else this.#payloads.set(id, bytes);
    }
  }

  async readHotBlock(
    { payload }: HotBlock,
    allocate: Allocate = (length) => new Uint8Array(length),
  ): Promise<Uint8Array> {
    const cached = this.#payloads.get(payload);
    const bytes = cached ?? (await this.#dependencies.readPayload(payload));
    // The caller gets a copy, because the cache may evict and free its buffer at any time.
    const copy = allocate(bytes.length);
    copy.set(bytes);
    if (bytes !== cached) discard(bytes);
    return copy;
  }

  async readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    const cached = this.#headers.get(segment.id);
    if (cached !== undefined) return cached;
    const headers = await this.#dependencies.segments.readHeaders(segment);
    this.#headers.set(segment.id, headers);
    return headers;
  }

  /** Frees what is cached of files that no state needs any more, given relative to the dataset's folder. */
  forget(files: readonly string[]): void {
    for (const file of files) {
      const name = file.slice(file.indexOf('/') + 1);
      this.#headers.delete(name);
      this.#lists.delete(name);
    }
  }

  async readList(list: SegmentList): Promise<ListContent> {
    const cached = this.#lists.get(list.id);
    if (cached !== undefined) return cached;
    const content = await this.#dependencies.segments.readList(list);
    this.#lists.set(list.id, content);
    return content;
  }
}
