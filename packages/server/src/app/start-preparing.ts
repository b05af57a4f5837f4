import type { DatasetDescription } from '../dataset/dataset-reader.ts';
import type { PrepareBlock } from '../ingest/block-loader.ts';
import { type PreparerPoolOptions, startPreparerPool } from '../ingest/preparer-pool.ts';
import type { Closers } from './closers.ts';

/** Threads that make of raw blocks what a dataset keeps of them. */
export function startPreparing(
  { votes, allowMissing }: Pick<DatasetDescription, 'votes' | 'allowMissing'>,
  options: Pick<PreparerPoolOptions, 'workerCount' | 'form'>,
  closers: Closers,
): PrepareBlock {
  const pool = startPreparerPool({
    ...options,
    normalize: {
      votes,
      metaOptional: allowMissing.includes('meta'),
      allowMissing: allowMissing.filter((kind) => kind !== 'meta'),
    },
  });
  closers.add(() => pool.close());
  return (slot, bytes, format) => pool.normalize(slot, bytes, format);
}
