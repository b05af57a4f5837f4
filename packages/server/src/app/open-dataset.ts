import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import { Dataset } from '../dataset/dataset.ts';
import type { Manifest } from '../dataset/manifest.ts';
import { refuseSharedFolder } from '../dataset/refuse-shared-folder.ts';
import type { Fs } from '../storage/fs.ts';
import type { WriterLock } from '../storage/writer-lock.ts';
import type { DatasetConfig } from './config/config-schema.ts';
import type { PlannedDataset } from './plan-datasets.ts';

export interface OpenDatasetOptions {
  /** The dataset's own. */
  readonly folder: string;
  readonly name: string;
  readonly realTime: boolean;
  /** What a dataset that is not there yet is made as. */
  readonly manifest?: Partial<Manifest>;
}

export interface OpenDatasetModules {
  readonly fs: Fs;
  readonly clock: Clock;
  readonly lock: WriterLock;
}

/** Opens a dataset for writing, making it first if it is not there. */
export async function openOrCreateDataset(
  { folder, name, realTime, manifest }: OpenDatasetOptions,
  { fs, clock, lock }: OpenDatasetModules,
): Promise<Dataset> {
  const modules = { fs, clock, isLockHeld: () => lock.isHeld };
  if (!(await Dataset.isThere(folder, fs))) {
    await refuseSharedFolder(folder, fs);
    await Dataset.create(folder, { ...manifestDefaults, ...manifest, name }, modules);
  }
  return Dataset.open({ folder, realTime }, modules);
}

const manifestDefaults: Omit<Manifest, 'name'> = {
  aliases: [],
  genesisHash: null,
  votes: 'drop',
  metaOptional: false,
  allowMissing: [],
};

/** Opens a dataset as it is configured. One that nothing feeds must be there. */
export async function openPlanned(
  { names, folder, config }: PlannedDataset,
  modules: OpenDatasetModules & { readonly log: Logger },
): Promise<Dataset> {
  const { name, aliases } = names;
  const isFed = config !== null && config.sources.length > 0;
  const isThere = await Dataset.isThere(folder, modules.fs);
  if (!isThere && !isFed) throw new CodedError('dataset-missing', { dataset: name });
  const manifest = config === null ? {} : { aliases, ...whatIsKept(config) };
  const realTime = isFed && config.sources.some(({ kind }) => kind !== 'files');
  const dataset = await openOrCreateDataset({ folder, name, realTime, manifest }, modules);
  try {
    const { description } = dataset;
    if (description.name !== name) {
      throw new CodedError('dataset-name-differs', { dataset: name, found: description.name });
    }
    if (isFed && dataset.snapshot().start !== null) {
      modules.log.info(
        { dataset: name },
        'the dataset is there: from, votes and allowMissing are ignored',
      );
    }
    if (aliases.join() !== description.aliases.join()) await dataset.rename(aliases);
    return dataset;
  } catch (error) {
    await dataset.close();
    throw error;
  }
}

function whatIsKept({ votes, allowMissing }: DatasetConfig): Partial<Manifest> {
  return {
    votes,
    metaOptional: allowMissing.includes('meta'),
    allowMissing: allowMissing.filter((kind) => kind !== 'meta'),
  };
}
