import type { DatasetDescription } from '../dataset/dataset-reader.ts';
import type { PrepareBlock } from '../ingest/block-loader.ts';
import { startPreparerPool } from '../ingest/preparer-pool.ts';
import type { Closers } from './closers.ts';

/** Threads that make of raw blocks what a dataset keeps of them. */
export function startPreparing(
  { votes, allowMissing }: Pick<DatasetDescription, 'votes' | 'allowMissing'>,
  workerCount: number,
  closers: Closers,
): PrepareBlock {
  const pool = startPreparerPool({
    workerCount,
    normalize: {
      votes,
      metaOptional: allowMissing.includes('meta'),
      allowMissing: allowMissing.filter((kind) => kind !== 'meta'),
    },
  });
  closers.add(() => pool.close());
  return (slot, bytes) => pool.normalize(slot, bytes);
}
