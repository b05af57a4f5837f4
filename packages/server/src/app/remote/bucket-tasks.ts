/** The background tasks of every process that reads a dataset from a bucket. */
import { join } from 'node:path';
import { isCodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import type { Logger } from 'pino';
import { type Bucket, openBucket } from '../../cluster/bucket.ts';
import { collectBucket } from '../../cluster/collect-bucket.ts';
import { keepLease } from '../../cluster/reader-leases.ts';
import type { DamageWatch } from '../../cluster/watch-damage.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { Closers } from '../closers.ts';
import type { StoreConfig } from '../config/remote-schema.ts';
import type { OpenDatasetDependencies } from '../open-dataset.ts';
import type { PlannedDataset } from '../plan-datasets.ts';
import type { Tasks } from '../tasks.ts';
import { openStore } from './open-store.ts';

export interface RemoteDependencies extends OpenDatasetDependencies {
  readonly log: Logger;
  readonly closers: Closers;
  readonly tasks: Tasks;
  readonly seed: number;
}

/** The interval between two searches for unused objects. */
const collectEveryMs = 30 * 60_000;

export async function openBucketOf(
  { names, folder }: PlannedDataset,
  config: StoreConfig,
  dependencies: RemoteDependencies,
): Promise<Bucket> {
  const random = Random.fromSeed(dependencies.seed).fork(`store ${names.name}`);
  const store = openStore(config, {
    clock: dependencies.clock,
    environment: process.env,
    random: () => random.unit(),
  });
  dependencies.closers.add(() => store.close());
  const { cacheBytesMax, requestCountMax } = config;
  const cacheFolder = join(folder, 'cache');
  const options = { dataset: names.name, cacheFolder, cacheBytesMax, requestCountMax };
  const bucket = await openBucket(options, { store, clock: dependencies.clock, fs: nodeFs });
  dependencies.closers.add(() => bucket.cache.close());
  return bucket;
}

/** Returns what a dataset has read from its bucket, for its status and metrics. */
export function countersOf({ cache }: Bucket): Readonly<Record<string, number>> {
  const { requests, fetchedBytes, evictions } = cache.counters;
  return { storeRequests: requests, storeBytes: fetchedBytes, cacheEvictions: evictions };
}

export function runReader(
  dataset: Dataset,
  bucket: Bucket,
  damage: DamageWatch,
  dependencies: Pick<RemoteDependencies, 'clock' | 'tasks'> & {
    readonly reader: string;
    /** See `keepLease`. */
    readonly oldestAgeMs?: () => number;
  },
): void {
  const { store } = bucket;
  const { clock, tasks, reader, oldestAgeMs = () => dataset.oldestLeaseMs } = dependencies;
  bucket.cache.onFetched = (error) => reportFetch(dataset, error);
  tasks.run((signal) => bucket.cache.run(signal));
  tasks.run((signal) => damage.run(dataset, clock, signal));
  tasks.run((signal) =>
    keepLease({ dataset: bucket.dataset, reader }, { store, clock, oldestAgeMs }, signal),
  );
}

/** History that cannot be read is an alarm until a request to the store succeeds. */
function reportFetch({ alarms }: Dataset, error: unknown): void {
  if (error === undefined) alarms.clear('store-unreachable');
  else if (isCodedError(error)) alarms.raise('store-unreachable', error);
}

/** Removes unused objects from the bucket at an interval, until the signal aborts. */
export async function collectRegularly(
  { dataset: name, store, log }: Bucket,
  dependencies: Pick<RemoteDependencies, 'clock' | 'log'> & {
    readonly writer: string;
    readonly dataset: Pick<Dataset, 'commit' | 'unusedFiles'>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { clock, signal, writer, dataset } = dependencies;
  while (!signal.aborted) {
    await clock.sleep(collectEveryMs, signal);
    if (signal.aborted) return;
    try {
      // The clock of the store is read from the time of an object just written.
      const key = `${name}/leases/clock-${writer}`;
      await store.put(key, new TextEncoder().encode('{"ageMs":0}'));
      const nowUnixMs = (await store.head(key))?.modifiedUnixMs;
      if (nowUnixMs === undefined) continue;
      const { files, manifests, objects } = await collectBucket(name, {
        store,
        log,
        clock,
        nowUnixMs,
        unusedFiles: dataset.unusedFiles,
      });
      if (files.length > 0) await dataset.commit([{ kind: 'forget', files }]);
      if (manifests + objects > 0)
        dependencies.log.info(
          { dataset: name, manifests, objects },
          'removed unused objects from the object store',
        );
    } catch (error) {
      if (!isCodedError(error)) throw error;
      dependencies.log.warn({ dataset: name, code: error.code }, error.message);
    }
  }
}
