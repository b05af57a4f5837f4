const megabyte = 1024 * 1024;

/** Every bound of an open dataset. */
export interface DatasetLimits {
  /** The newest file is read whole at a start; a smaller one makes more checkpoints. */
  readonly journalFileBytesMax: number;
  /** What one sync makes durable at most, while blocks arrive faster than the disk syncs. */
  readonly groupBytesMax: number;
  /** A waiter is a follower; each costs a socket and some kilobytes. */
  readonly waiterCountMax: number;
  /** Followers read the newest blocks, each distinct query once. */
  readonly payloadCacheBytesMax: number;
  readonly blockCacheBytesMax: number;
  readonly headerCacheBytesMax: number;
  /** Writing stops where less is free than this many bytes, or this share of a small disk. */
  readonly diskFloorBytes: number;
  readonly diskFloorShare: number;
  readonly spaceCheckEveryMs: number;
  /** Finalized hot blocks become a segment at the first of these; the merge holds them all in memory. */
  readonly sealBlockCount: number;
  readonly sealBytes: number;
}

export const datasetLimits: DatasetLimits = {
  journalFileBytesMax: 64 * megabyte,
  groupBytesMax: 32 * megabyte,
  waiterCountMax: 20_000,
  payloadCacheBytesMax: 8 * megabyte,
  blockCacheBytesMax: 64 * megabyte,
  headerCacheBytesMax: 16 * megabyte,
  diskFloorBytes: 1024 * megabyte,
  diskFloorShare: 0.05,
  spaceCheckEveryMs: 1_000,
  sealBlockCount: 1_024,
  sealBytes: 32 * megabyte,
};
