import { availableParallelism } from 'node:os';
import type { EnginePoolOptions } from './engine-pool.ts';

export const ENGINE_LIMITS: EnginePoolOptions = {
  // Queries are all work and no waiting: more threads than cores only take turns.
  threadCount: availableParallelism(),
  // Leaves room on a small machine; a query for everything loads about 0.6 MB a block of the 2025 profile.
  cacheBytesMax: 256 << 20,
};
