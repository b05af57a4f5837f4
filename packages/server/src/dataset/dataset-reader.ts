/**
 * What the read side sees of a dataset. Everything here may be called while the dataset is written; nothing here waits
 * for a writer.
 */
import type { ChainSnapshot, HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import type { Block, BlockHeader } from '../ledger/block.ts';
import type { MissingKind, NormalizeOptions } from '../source/normalize-options.ts';
import type { AlarmCode } from './alarm-codes.ts';
import type { Manifest } from './manifest.ts';

export interface DatasetReader {
  readonly description: DatasetDescription;

  /** The last committed state: durable, whole, of one version. */
  snapshot(): ChainSnapshot;
  /**
   * The first snapshot newer than `sinceVersion`: at once if there is one, else when it is committed. Also returns, with
   * what there is, when the signal aborts or the dataset closes, so a caller compares versions.
   */
  changed(sinceVersion: number, signal: AbortSignal): Promise<ChainSnapshot>;
  /** As `snapshot`, and what it names stays readable until the release. For readers of payloads and segments. */
  acquire(): SnapshotLease;

  /**
   * A copy of the bytes of a hot block, which are a segment of one block, in memory of the caller's choice. The block belongs
   * to a snapshot that the caller has leased.
   */
  readHotBlock(block: HotBlock, allocate?: Allocate): Promise<Uint8Array>;
  /** The same block, decoded; recent ones are kept. */
  decodeHotBlock(block: HotBlock): Promise<Block>;
  /** The bytes of a sealed segment's file. */
  readSegment(segment: SealedSegment): Promise<Uint8Array>;
  /** Where a sealed segment's file is, for readers that open it themselves. */
  segmentPath(segment: SealedSegment): string;
  /** The headers of a sealed segment's blocks, ascending; recent ones are kept. */
  readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]>;

  status(): DatasetStatus;
  /** A reader found that a sealed segment cannot be read: an alarm until the process ends, since only a copy mends it. */
  reportDamage(segment: SealedSegment, cause: string): void;
}

/** Memory of so many bytes, with anything in it. */
export type Allocate = (length: number) => Uint8Array;

export interface SnapshotLease {
  readonly snapshot: ChainSnapshot;
  /** Once is enough; a second call does nothing. */
  release(): void;
}

/** Kinds of records that a dataset may be allowed to lack where the source has none. */
export type OptionalKind = MissingKind | 'meta';

/** What stays the same while the dataset is open. */
export interface DatasetDescription {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Whether a live source feeds it. */
  readonly realTime: boolean;
  /** What the dataset keeps, fixed when it is made. */
  readonly votes: NormalizeOptions['votes'];
  readonly allowMissing: readonly OptionalKind[];
  readonly genesisHash: string | null;
  /** Where it was to begin, if it was made to follow. */
  readonly from?: Manifest['from'];
}

/** One of the things an operator must hear about. It stands until its cause is gone. */
export interface Alarm {
  readonly code: AlarmCode;
  readonly message: string;
  /** Unix milliseconds. */
  readonly sinceUnixMs: number;
}

export interface DatasetStatus {
  readonly storage: StorageStatus;
  /** Of the disk, when it was last looked at; `null` before the first write. */
  readonly freeBytes: number | null;
  /** States that readers hold, whose files must stay. */
  readonly leaseCount: number;
  /** What happened since the start. */
  readonly counters: Readonly<Record<string, number>>;
  readonly alarms: readonly Alarm[];
}

export type StorageStatus =
  | { readonly kind: 'open' }
  /** Reads go on; writing goes on by itself once there is space. */
  | { readonly kind: 'disk-floor'; readonly freeBytes: number; readonly floorBytes: number }
  /** A write or sync failed: the dataset serves what was durable and reopens its journal before it writes again. */
  | { readonly kind: 'failed'; readonly code: string }
  | { readonly kind: 'closed' };
