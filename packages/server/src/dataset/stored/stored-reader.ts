/**
 * Reads a dataset that this process does not write, in the state that its files had when it was opened or last reloaded.
 * Another process may write the dataset and remove segments of this state. Reading those fails until the next reload.
 */

import { isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { LRUCache } from 'lru-cache';
import type {
  ChainSnapshot,
  HotBlock,
  IndexRun,
  SealedSegment,
} from '../../chain/chain-snapshot.ts';
import type { ListContent, ReadList } from '../../chain/segment-lists.ts';
import type { ByteRange } from '../../object-store/object-store.ts';
import type { Fs } from '../../storage/fs.ts';
import { headerMemoryBytes, listCacheCountMax } from '../block-reader.ts';
import type {
  Allocate,
  DatasetDescription,
  DatasetReader,
  DatasetStatus,
  SnapshotLease,
} from '../dataset-reader.ts';
import { type IndexKey, IndexReader, type SlotRanges } from '../history/index-reader.ts';
import { SegmentStore } from '../segment-store.ts';
import { readStoredDataset, type StoredDataset } from './stored-dataset.ts';

/** The size of the header cache, by the estimate of `headerMemoryBytes`. */
const headerCacheBytesMax = 16 << 20;

export class StoredReader implements DatasetReader {
  readonly #folder: string;
  readonly #fs: Fs;
  readonly #segments: SegmentStore;
  readonly #headers = new LRUCache<string, readonly BlockHeader[]>({
    maxSize: headerCacheBytesMax,
    sizeCalculation: (headers) => headers.length * headerMemoryBytes,
  });
  readonly #lists = new LRUCache<string, ListContent>({ max: listCacheCountMax });
  readonly #indexes: IndexReader;
  readonly #damaged = new Set<string>();
  #stored: StoredDataset;
  #snapshot: ChainSnapshot;

  private constructor(folder: string, fs: Fs, stored: StoredDataset) {
    this.#folder = folder;
    this.#fs = fs;
    this.#segments = new SegmentStore(folder, fs);
    this.#indexes = new IndexReader((run) => this.#segments.openIndex(run));
    this.#stored = stored;
    this.#snapshot = stored.snapshot;
  }

  static async open(folder: string, fs: Fs): Promise<StoredReader> {
    return new StoredReader(folder, fs, await readStoredDataset(folder, fs));
  }

  /** Replaces the state by the current content of the files. */
  async reload(): Promise<void> {
    const stored = await readStoredDataset(this.#folder, this.#fs);
    this.#stored = stored;
    // The version must grow with every reload, but the writer's count may restart.
    this.#snapshot = { ...stored.snapshot, version: this.#snapshot.version + 1 };
  }

  get description(): DatasetDescription {
    const { name, aliases, votes, metaOptional, genesisHash } = this.#stored.manifest;
    const allowMissing = [...this.#stored.manifest.allowMissing, ...(metaOptional ? meta : [])];
    return { name, aliases, realTime: false, votes, allowMissing, genesisHash };
  }

  snapshot(): ChainSnapshot {
    return this.#snapshot;
  }

  /** Resolves only when the signal aborts, because this process makes no changes. */
  async changed(_sinceVersion: number, signal: AbortSignal): Promise<ChainSnapshot> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return this.#snapshot;
  }

  acquire(): SnapshotLease {
    return { snapshot: this.#snapshot, release: () => undefined };
  }

  async readHotBlock(block: HotBlock, allocate?: Allocate): Promise<Uint8Array> {
    const bytes = await this.#stored.readHotBlock(block);
    if (allocate === undefined) return bytes;
    const copy = allocate(bytes.length);
    copy.set(bytes);
    return copy;
  }

  readSegment(segment: SealedSegment, range?: ByteRange): Promise<Uint8Array> {
    return this.#segments.read(segment, range);
  }

  segmentPath(segment: SealedSegment): string {
    return this.#segments.path(segment);
  }

  async readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    const cached = this.#headers.get(segment.id);
    if (cached !== undefined) return cached;
    const headers = await this.#segments.readHeaders(segment);
    this.#headers.set(segment.id, headers);
    return headers;
  }

  readonly readList: ReadList = async (list) => {
    const cached = this.#lists.get(list.id);
    if (cached !== undefined) return cached;
    const content = await this.#segments.readList(list);
    this.#lists.set(list.id, content);
    return content;
  };

  /** An index that cannot be read excludes nothing. A process that writes the dataset may have replaced it. */
  readonly findSlots = async (run: IndexRun, key: IndexKey): Promise<SlotRanges> => {
    try {
      return await this.#indexes.find(run, key);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return undefined;
    }
  };

  close(): void {
    this.#indexes.close();
  }

  status(): DatasetStatus {
    return {
      storage: { kind: 'open' },
      freeBytes: null,
      leaseCount: 0,
      counters: {},
      alarms: [],
    };
  }

  reportDamage(segment: SealedSegment): void {
    this.#damaged.add(this.segmentPath(segment));
  }

  get damaged(): ReadonlySet<string> {
    return this.#damaged;
  }
}

const meta = ['meta'] as const;
