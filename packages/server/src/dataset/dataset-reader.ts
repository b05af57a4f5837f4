/**
 * The read interface of a dataset. All methods may be called while the dataset is being written, and none of them waits
 * for the writer.
 */

import type { BlockHeader } from '@sluice/ledger/block';
import type { MissingKind, NormalizeOptions } from '@sluice/source/normalize/normalize-options';
import type { ChainSnapshot, HotBlock, IndexRun, SealedSegment } from '../chain/chain-snapshot.ts';
import type { ReadList } from '../chain/segment-lists.ts';
import type { CachedLocation } from '../object-store/cached-range-file.ts';
import type { Urgency } from '../object-store/gate.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import type { AlarmCode } from './alarm-codes.ts';
import type { IndexKey, SlotRanges } from './history/index-reader.ts';
import type { Manifest } from './manifest.ts';

export interface DatasetReader {
  readonly description: DatasetDescription;

  /** Returns the last committed state, which is durable. */
  snapshot(): ChainSnapshot;
  /**
   * Resolves to the first snapshot newer than `sinceVersion`, immediately if there is one. Also resolves, to the
   * current snapshot, when the signal aborts or the dataset closes, so the caller must compare versions.
   */
  changed(sinceVersion: number, signal: AbortSignal): Promise<ChainSnapshot>;
  /** Returns the current snapshot and keeps its payloads and segment files readable until `release`. */
  acquire(): SnapshotLease;

  /**
   * Returns a copy of a hot block's bytes, a segment of one block, in memory from `allocate`. The block must belong to
   * a snapshot that the caller has leased.
   */
  readHotBlock(block: HotBlock, allocate?: Allocate): Promise<Uint8Array>;
  /** Returns the content of a sealed segment's file, or a part of it. */
  readSegment(segment: SealedSegment, range?: ByteRange): Promise<Uint8Array>;
  /** Returns the path of a sealed segment's file, for readers that open it themselves. */
  segmentPath(segment: SealedSegment): string;
  /** Returns where the segment is if it has to be fetched from an object store. */
  remoteSegment?(segment: SealedSegment): RemoteSegment | undefined;
  /** Returns the headers of a sealed segment's blocks, ascending. Recent ones are cached. */
  readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]>;
  /** Returns the slots that can have a key, or any key of a set, according to an index over segments. Absent if the dataset has no such indexes. */
  readonly findSlots?: (run: IndexRun, key: IndexKey) => Promise<SlotRanges>;
  /** Returns the content of a list of segments. Recent ones are cached. */
  readonly readList: ReadList;

  /**
   * Resolves to true when this state contains everything that any reader of the dataset has shown before the call, and to
   * false if that cannot be found out. Only a dataset that several processes share has this method.
   */
  confirm?(): Promise<boolean>;

  status(): DatasetStatus;
  /**
   * Raises an alarm about an unreadable segment. Without an object store it stays active until the process ends, because
   * only a backup can repair the file.
   */
  reportDamage(segment: SealedSegment, cause: string): void;
}

/** A segment in an object store, behind a cache file. */
export interface RemoteSegment {
  readonly location: CachedLocation;
  /** Resolves when the ranges are in the cache file. Ranges that are requested in advance may be skipped. */
  readonly fetch: (ranges: readonly ByteRange[], urgency: Urgency) => Promise<void>;
}

/** Returns uninitialized memory of this length. */
export type Allocate = (length: number) => Uint8Array;

export interface SnapshotLease {
  readonly snapshot: ChainSnapshot;
  /** Ends the lease. Further calls do nothing. */
  release(): void;
}

/** The record kinds that a dataset may be allowed to lack if the source does not have them. */
export type OptionalKind = MissingKind | 'meta';

/** The properties of a dataset that do not change while blocks are added. */
export interface DatasetDescription {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Whether a live source feeds it. */
  readonly realTime: boolean;
  /** Whether vote transactions are stored. Fixed when the dataset is created. */
  readonly votes: NormalizeOptions['votes'];
  readonly allowMissing: readonly OptionalKind[];
  readonly genesisHash: string | null;
  /** The configured start of a dataset that follows sources. */
  readonly from?: Manifest['from'];
}

/** A condition that an operator must know about. It is active until its cause is resolved. */
export interface Alarm {
  readonly code: AlarmCode;
  readonly message: string;
  readonly sinceUnixMs: number;
}

export interface DatasetStatus {
  readonly storage: StorageStatus;
  /** The free disk space at the last check, or null before the first write. */
  readonly freeBytes: number | null;
  /** The number of leased snapshots, whose files are kept. */
  readonly leaseCount: number;
  /** Counts of events since the process started. */
  readonly counters: Readonly<Record<string, number>>;
  readonly alarms: readonly Alarm[];
}

export type StorageStatus =
  | { readonly kind: 'open' }
  /** Reading continues. Writing resumes by itself when there is enough space. */
  | { readonly kind: 'disk-floor'; readonly freeBytes: number; readonly floorBytes: number }
  /**
   * A write or sync failed. The dataset keeps serving the durable blocks and reopens its journal before it writes
   * again.
   */
  | { readonly kind: 'failed'; readonly code: string }
  | { readonly kind: 'closed' };
