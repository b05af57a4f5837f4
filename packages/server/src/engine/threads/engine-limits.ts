import { availableParallelism, totalmem } from 'node:os';
import type { LookupTurnsOptions } from './pool-lookups.ts';
import type { RunPermitsOptions } from './run-permits.ts';

export interface EnginePoolOptions {
  readonly threadCount: number;
  /** The bytes of segments that all threads together keep between queries: indexes, dictionaries, keys and their texts. */
  readonly cacheBytesMax: number;
  /** Whether segments may be in an object store; false by default. */
  readonly readsStore?: boolean;
}

/** The default share of the machine's memory for the cache, and its bounds. */
const cacheShare = 1 / 32;
const cacheBytesLeast = 64 << 20;
const cacheBytesMost = 1 << 30;

export const ENGINE_LIMITS: EnginePoolOptions = {
  // Queries are bound by the processor, so more threads than cores would not be faster.
  threadCount: availableParallelism(),
  cacheBytesMax: cacheBytesFor(availableMemory()),
};

/** Returns a whole number of megabytes. */
function cacheBytesFor(memoryBytes: number): number {
  const share = Math.floor((memoryBytes * cacheShare) / 2 ** 20) * 2 ** 20;
  return Math.min(cacheBytesMost, Math.max(cacheBytesLeast, share));
}

/** Returns the memory of the machine, or the limit of the container. */
function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** How many runs are active at the same time. Other runs wait. */
export const RUN_LIMITS = {
  /**
   * Runs over history. More than a few are not faster together, and each may hold the columns of a row group in each thread: about 10 MB
   * for a query of all fields.
   */
  history: { countMax: 8, restMsMax: 250 },
  /** Runs over a block at the head. They need about a megabyte each, and their readers take the whole text at once. */
  urgent: { countMax: 32, restMsMax: 250 },
} as const satisfies Record<string, RunPermitsOptions>;

/**
 * The requests of lookups that threads work on at the same time. Each is divided among all threads, so a second one would add to the
 * turns that a new block waits for, and hardly make lookups faster.
 */
export const LOOKUP_TURNS: LookupTurnsOptions = { countMax: 1, waitMsMax: 1_000, restMsMax: 50 };
