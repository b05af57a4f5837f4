import { availableParallelism, totalmem } from 'node:os';
import type { RunPlacesOptions } from './run-places.ts';

export interface EnginePoolOptions {
  readonly threadCount: number;
  /** Bytes that all threads together keep of segments between queries: indexes, dictionaries, keys and their texts. */
  readonly cacheBytesMax: number;
  /** Whether segments may be in an object store; false by default. */
  readonly readsStore?: boolean;
}

/** The share of the machine's memory that the cache may take by default, and its bounds. */
const cacheShare = 1 / 32;
const cacheBytesLeast = 64 << 20;
const cacheBytesMost = 1 << 30;

export const ENGINE_LIMITS: EnginePoolOptions = {
  // Queries are all work and no waiting: more threads than cores only take turns.
  threadCount: availableParallelism(),
  cacheBytesMax: cacheBytesFor(availableMemory()),
};

/** A whole number of megabytes. */
function cacheBytesFor(memoryBytes: number): number {
  const share = Math.floor((memoryBytes * cacheShare) / 2 ** 20) * 2 ** 20;
  return Math.min(cacheBytesMost, Math.max(cacheBytesLeast, share));
}

/** The memory of the machine, or what a container allows this process of it. */
function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** How many runs are made at once; the others wait. */
export const RUN_LIMITS = {
  /**
   * Those through history. More than a few make nothing faster, and each may hold the columns of a row group in each thread:
   * some 10 MB where everything is asked.
   */
  history: { countMax: 8, restMsMax: 250 },
  /** Those of a block at the head, which have a megabyte and whose readers take all at once. */
  urgent: { countMax: 32, restMsMax: 250 },
} as const satisfies Record<string, RunPlacesOptions>;
