import { workerUrl } from '@sluice/base/worker-url';
import {
  NormalizerPool,
  type NormalizerPoolOptions,
} from '../../source/normalize/normalizer-pool.ts';
import type { PreparedBlock, PreparedForm } from './prepared-block.ts';

export type PreparerPool = NormalizerPool<PreparedBlock>;

export interface PreparerPoolOptions
  extends Pick<NormalizerPoolOptions, 'workerCount' | 'normalize'> {
  readonly form?: PreparedForm;
}

/** Starts worker threads that normalize and encode blocks. Datasets with equal options can share a pool. */
export function startPreparerPool({
  form = 'whole',
  ...options
}: PreparerPoolOptions): PreparerPool {
  const url = workerUrl(import.meta.url, './prepare-worker.ts');
  return new NormalizerPool<PreparedBlock>({ ...options, workerUrl: url, workerData: form });
}
