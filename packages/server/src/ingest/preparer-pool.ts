import { workerUrl } from '../base/worker-url.ts';
import { NormalizerPool, type NormalizerPoolOptions } from '../source/normalizer-pool.ts';
import type { PreparedBlock } from './prepared-block.ts';

export type PreparerPool = NormalizerPool<PreparedBlock>;

/** Threads that normalize and encode; one pool may serve several datasets that keep the same. */
export function startPreparerPool(
  options: Pick<NormalizerPoolOptions, 'workerCount' | 'normalize'>,
): PreparerPool {
  const url = workerUrl(import.meta.url, './prepare-worker.ts');
  return new NormalizerPool<PreparedBlock>({ ...options, workerUrl: url });
}
