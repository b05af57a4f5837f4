import type { DatasetDescription } from '../dataset/dataset-reader.ts';
import type { PrepareBlock } from '../ingest/follow/block-loader.ts';
import {
  type PreparerPool,
  type PreparerPoolOptions,
  startPreparerPool,
} from '../ingest/prepare/prepared-block.ts';
import type { Closers } from './closers.ts';

/** Starts worker threads that prepare raw blocks for a dataset. */
export function startPreparers(
  { votes, allowMissing }: Pick<DatasetDescription, 'votes' | 'allowMissing'>,
  options: Pick<PreparerPoolOptions, 'workerCount' | 'form'>,
  closers: Closers,
): PreparerPool {
  const pool = startPreparerPool({
    ...options,
    normalize: {
      votes,
      metaOptional: allowMissing.includes('meta'),
      allowMissing: allowMissing.filter((kind) => kind !== 'meta'),
    },
  });
  closers.add(() => pool.close());
  return pool;
}

/** Like `startPreparers`, but returns only the function that prepares blocks. */
export function startPreparing(...args: Parameters<typeof startPreparers>): PrepareBlock {
  const pool = startPreparers(...args);
  return (slot, bytes, format) => pool.normalize(slot, bytes, format);
}
