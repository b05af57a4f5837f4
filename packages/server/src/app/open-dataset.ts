import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import type { Logger } from 'pino';
import { Dataset, type DatasetDependencies, type DatasetOptions } from '../dataset/dataset.ts';
import type { DatasetDescription } from '../dataset/dataset-reader.ts';
import { makeIndexInThread } from '../dataset/history/index-thread.ts';
import type { Manifest } from '../dataset/manifest.ts';
import { checkFolderNotShared } from '../dataset/stored/check-folder-not-shared.ts';
import { createDataset, datasetExists } from '../dataset/stored/create-dataset.ts';
import type { Fs } from '../storage/fs.ts';
import type { WriterLock } from '../storage/writer-lock.ts';
import { type DatasetConfig, MADE_AS } from './config/config-schema.ts';
import type { PlannedDataset } from './plan-datasets.ts';

export interface OpenDatasetOptions {
  readonly folder: string;
  readonly name: string;
  readonly realTime: boolean;
  /** The options of a new dataset. */
  readonly manifest?: Partial<Manifest>;
}

export interface OpenDatasetDependencies {
  readonly fs: Fs;
  readonly clock: Clock;
  readonly lock: WriterLock;
  readonly observeMerge?: DatasetDependencies['observeMerge'];
  readonly onDiscarded?: DatasetDependencies['onDiscarded'];
  /** The parts of a dataset that remote storage replaces. */
  readonly remote?: Pick<
    DatasetDependencies,
    'segments' | 'publish' | 'checkGrowth' | 'confirm' | 'counters' | 'onDamage'
  > &
    Pick<DatasetOptions, 'limits'>;
}

/** Opens a dataset for writing. Creates it if it does not exist. */
export async function openOrCreateDataset(
  { folder, name, realTime, manifest }: OpenDatasetOptions,
  { fs, clock, lock, observeMerge, onDiscarded, remote }: OpenDatasetDependencies,
): Promise<Dataset> {
  const observers = {
    ...(observeMerge === undefined ? {} : { observeMerge }),
    ...(onDiscarded === undefined ? {} : { onDiscarded }),
  };
  const { limits, ...elsewhere } = remote ?? {};
  const makeIndex = makeIndexInThread;
  const dependencies = { fs, clock, ...observers, makeIndex, ...watchLock(lock), ...elsewhere };
  if (!(await datasetExists(folder, fs))) {
    await checkFolderNotShared(folder, fs);
    await createDataset(folder, { ...manifestDefaults, ...manifest, name }, dependencies);
  }
  return Dataset.open(
    { folder, realTime, ...(limits === undefined ? {} : { limits }) },
    dependencies,
  );
}

/**
 * Returns the functions with which a dataset checks and reacquires the lock. After the lock was lost, the dataset reads its journal again
 * before it writes anything, even if another dataset of the folder has already reacquired the lock.
 */
function watchLock(lock: WriterLock): Pick<DatasetDependencies, 'isLockHeld' | 'reacquireLock'> {
  let { term } = lock;
  return {
    isLockHeld: () => lock.isHeld && lock.term === term,
    reacquireLock: async () => {
      await lock.reacquire();
      ({ term } = lock);
    },
  };
}

const manifestDefaults: Omit<Manifest, 'name'> = {
  aliases: [],
  genesisHash: null,
  votes: 'drop',
  metaOptional: false,
  allowMissing: [],
};

/** Opens a dataset according to its configuration. A dataset without sources must exist. */
export async function openPlanned(
  { names, folder, config }: PlannedDataset,
  dependencies: OpenDatasetDependencies & { readonly log: Logger },
): Promise<Dataset> {
  const { name, aliases } = names;
  const isFed = config !== null && config.sources.length > 0;
  const isThere = await datasetExists(folder, dependencies.fs);
  if (!isThere && !isFed) throw new CodedError('dataset-missing', { dataset: name });
  const manifest = config === null ? {} : { aliases, ...manifestOptions(config) };
  const realTime = isFed && config.sources.some(({ kind }) => kind !== 'files');
  const dataset = await openOrCreateDataset(
    { folder, name, realTime, manifest },
    { ...dependencies, onDiscarded: warnOfDiscarded(name, dependencies.log) },
  );
  try {
    const { description } = dataset;
    if (description.name !== name) {
      throw new CodedError('dataset-name-differs', { dataset: name, found: description.name });
    }
    if (config !== null) await applyConfig(dataset, config, dependencies.log);
    if (aliases.join() !== description.aliases.join()) await dataset.updateManifest({ aliases });
    return dataset;
  } catch (error) {
    await dataset.close();
    throw error;
  }
}

/** Damage to the last record looks like a write that a kill has cut off, so what was discarded may have been acknowledged. */
function warnOfDiscarded(dataset: string, log: Logger): DatasetDependencies['onDiscarded'] {
  return (discardedBytes, { head }) =>
    log.warn(
      { dataset, discardedBytes, head: head?.number ?? null },
      'the journal ended with an incomplete or damaged record, which was discarded; the dataset now ends at this head',
    );
}

/** The start slot can be changed until the first block is stored. Other options that have no effect any more are logged. */
async function applyConfig(dataset: Dataset, config: DatasetConfig, log: Logger): Promise<void> {
  const { from } = config;
  const hasBegun = dataset.snapshot().start !== null;
  if (!hasBegun && from !== undefined) await dataset.updateManifest({ from });
  const ignored = listIgnored(config, dataset.description);
  if (ignored.length === 0) return;
  log.warn(
    { dataset: dataset.description.name, ignored },
    'the dataset was created with other options: these options have an effect only on a new dataset and are ignored',
  );
}

function listIgnored(
  { from, votes, allowMissing }: DatasetConfig,
  made: DatasetDescription,
): string[] {
  const kinds = (list: readonly string[]) => list.toSorted().join();
  const isIgnored = {
    from: from !== undefined && from !== made.from,
    votes: votes !== undefined && votes !== made.votes,
    allowMissing: allowMissing !== undefined && kinds(allowMissing) !== kinds(made.allowMissing),
  };
  return Object.entries(isIgnored).flatMap(([key, isSo]) => (isSo ? [key] : []));
}

function manifestOptions(config: DatasetConfig): Partial<Manifest> {
  const { from = MADE_AS.from, votes = MADE_AS.votes } = config;
  const allowMissing: NonNullable<DatasetConfig['allowMissing']> = config.allowMissing ?? [];
  const isFollowed = config.sources.some(({ kind }) => kind !== 'files');
  return {
    ...(isFollowed ? { from } : {}),
    votes,
    metaOptional: allowMissing.includes('meta'),
    allowMissing: allowMissing.filter((kind) => kind !== 'meta'),
  };
}
