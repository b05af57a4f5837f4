/**
 * Opens datasets whose segments are in an object store. This folder is loaded only where a store is configured.
 */
import { randomUUID } from 'node:crypto';
import { assert } from '@sluice/base/assert';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import type { Bucket } from '../../cluster/bucket.ts';
import { ManifestKeeper } from '../../cluster/manifest-keeper.ts';
import { claimFolder } from '../../cluster/own-folder.ts';
import { DamageWatch } from '../../cluster/watch-damage.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Config } from '../config/config-schema.ts';
import type { StoreConfig } from '../config/remote-schema.ts';
import { type OpenDatasetDependencies, openPlanned } from '../open-dataset.ts';
import type { PlannedDataset } from '../plan-datasets.ts';
import type { OpenedDataset } from '../running-dataset.ts';
import {
  collectRegularly,
  countersOf,
  openBucketOf,
  type RemoteDependencies,
  runReader,
} from './bucket-tasks.ts';
import { openShared } from './open-shared.ts';

/** Opens a dataset of a configuration with a store, and with a feed if there is one. */
export async function openRemote(
  planned: PlannedDataset,
  config: Pick<Config, 'store' | 'feed' | 'role'>,
  dependencies: RemoteDependencies,
): Promise<OpenedDataset> {
  const { store, feed, role } = config;
  assert(store !== undefined, 'this is loaded only where a store is configured');
  if (feed !== undefined) return openShared(planned, { store, feed, role }, dependencies);
  return { dataset: await openOwned(planned, store, dependencies) };
}

/** Opens a dataset that this machine alone writes. */
async function openOwned(
  planned: PlannedDataset,
  config: StoreConfig,
  dependencies: RemoteDependencies,
): Promise<Dataset> {
  const bucket = await openBucketOf(planned, config, dependencies);
  const newWriter = () => `folder-${randomUUID()}`;
  const open: OpenOwnedDependencies['open'] = (remote) => {
    const limits = {
      sealBlockCount: config.segmentBlockCount,
    };
    return openPlanned(planned, { ...dependencies, remote: { ...remote, limits } });
  };
  return openBucketDataset(planned.folder, { ...dependencies, bucket, newWriter, open });
}

export interface OpenOwnedDependencies
  extends Pick<RemoteDependencies, 'fs' | 'clock' | 'tasks' | 'log'> {
  readonly bucket: Bucket;
  readonly newWriter: () => string;
  readonly open: (
    remote: Omit<NonNullable<OpenDatasetDependencies['remote']>, 'limits'>,
  ) => Promise<Dataset>;
}

/** Opens the dataset in a folder whose segments are in a bucket, and starts its background tasks. */
export async function openBucketDataset(
  folder: string,
  dependencies: OpenOwnedDependencies,
): Promise<Dataset> {
  const { fs, clock, tasks, bucket, newWriter, open } = dependencies;
  const { writer, number } = await claimFolder(folder, bucket, { fs, newWriter });
  const damage = new DamageWatch(bucket.segments);
  const dataset = await open({
    segments: bucket.segments,
    counters: () => countersOf(bucket),
    onDamage: (segment: SealedSegment) => damage.report(segment),
  });
  const keeper = new ManifestKeeper({ writer, number }, { dataset, log: bucket.log, clock });
  tasks.run((signal) => keeper.run(signal));
  runReader(dataset, bucket, damage, { clock, tasks, reader: writer });
  tasks.run((signal) => collectRegularly(bucket, { ...dependencies, writer, dataset, signal }));
  return dataset;
}
