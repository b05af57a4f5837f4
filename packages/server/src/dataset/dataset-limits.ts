const megabyte = 1024 * 1024;

export interface DatasetLimits {
  /** The newest journal file is read completely when a dataset is opened. A smaller limit causes more checkpoints. */
  readonly journalFileBytesMax: number;
  /** The maximum size of one journal record, which groups the commits that arrive during a sync. */
  readonly groupBytesMax: number;
  /** Each waiter is a follower at the head, which costs a socket and a few kilobytes. */
  readonly waiterCountMax: number;
  /** Caches the newest blocks for followers. Each distinct query reads them once. */
  readonly payloadCacheBytesMax: number;
  readonly headerCacheBytesMax: number;
  /** Writing stops when the free space is below this many bytes, or below this share of a small disk. */
  readonly diskFloorBytes: number;
  readonly diskFloorShare: number;
  readonly spaceCheckEveryMs: number;
  /** Finalized hot blocks are sealed when either limit is reached. The merge holds all of them in memory. */
  readonly sealBlockCount: number;
  readonly sealBytes: number;
  /** Small segments are merged into large ones of this size, at least this many at a time. */
  readonly mergeBytes: number;
  readonly mergeCount: number;
  /** A merge of more bytes of indexes takes minutes to hours, so that other work goes on beside it. */
  readonly longMergeBytes: number;
}

export const datasetLimits: DatasetLimits = {
  journalFileBytesMax: 64 * megabyte,
  groupBytesMax: 32 * megabyte,
  waiterCountMax: 20_000,
  payloadCacheBytesMax: 8 * megabyte,
  headerCacheBytesMax: 16 * megabyte,
  diskFloorBytes: 1024 * megabyte,
  diskFloorShare: 0.05,
  spaceCheckEveryMs: 1_000,
  sealBlockCount: 1_024,
  sealBytes: 32 * megabyte,
  mergeBytes: 256 * megabyte,
  mergeCount: 4,
  longMergeBytes: 1024 * megabyte,
};
