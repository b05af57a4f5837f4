import { availableParallelism } from 'node:os';
import type { RunPlacesOptions } from './run-places.ts';

export interface EnginePoolOptions {
  readonly threadCount: number;
  /** Bytes of loaded columns and pages that all threads together keep. */
  readonly cacheBytesMax: number;
}

export const ENGINE_LIMITS: EnginePoolOptions = {
  // Queries are all work and no waiting: more threads than cores only take turns.
  threadCount: availableParallelism(),
  // Leaves room on a small machine: at the head of a busy ledger it fills with columns of blocks that few ask for again. A
  // query for everything loads about 0.6 MB a block of the 2025 profile; who often asks for long ranges gives it more.
  cacheBytesMax: 128 << 20,
};

/** How many runs are made at once; the others wait. */
export const RUN_LIMITS = {
  /**
   * Those through history. More than a few make nothing faster, and each may hold the columns of a row group in each thread:
   * some 20 MB where everything is asked.
   */
  history: { countMax: 8, restMsMax: 250 },
  /** Those of a block at the head, which have a megabyte and whose readers take all at once. */
  urgent: { countMax: 32, restMsMax: 250 },
} as const satisfies Record<string, RunPlacesOptions>;
