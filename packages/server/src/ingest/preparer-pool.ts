import { workerUrl } from '../base/worker-url.ts';
import { NormalizerPool, type NormalizerPoolOptions } from '../source/normalizer-pool.ts';
import type { PreparedBlock, PreparedForm } from './prepared-block.ts';

export type PreparerPool = NormalizerPool<PreparedBlock>;

export interface PreparerPoolOptions
  extends Pick<NormalizerPoolOptions, 'workerCount' | 'normalize'> {
  readonly form?: PreparedForm;
}

/** Threads that normalize and encode; one pool may serve several datasets that keep the same. */
export function startPreparerPool({
  form = 'whole',
  ...options
}: PreparerPoolOptions): PreparerPool {
  const url = workerUrl(import.meta.url, './prepare-worker.ts');
  return new NormalizerPool<PreparedBlock>({ ...options, workerUrl: url, workerData: form });
}
