import { availableParallelism } from 'node:os';
import type { EnginePoolOptions } from './engine-pool.ts';

export const ENGINE_LIMITS: EnginePoolOptions = {
  // Queries are all work and no waiting: more threads than cores only take turns.
  threadCount: availableParallelism(),
  // Half of what a small machine can spare; columns of about 400 blocks of a busy ledger.
  cacheBytesMax: 256 << 20,
};
