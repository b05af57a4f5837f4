import { basename, dirname, join, resolve } from 'node:path';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { Logger } from 'pino';
import { type Manifest, readManifest } from '../dataset/manifest.ts';
import { findDatasets } from '../dataset/stored/find-datasets.ts';
import type { DatasetNames } from '../http/served-dataset.ts';
import type { Fs } from '../storage/fs.ts';
import type { Config, DatasetConfig } from './config/config-schema.ts';
import { datasetFolder } from './config/dataset-folder.ts';

/** A dataset that will be opened, with its names, which are known before the dataset is read. */
export interface PlannedDataset {
  readonly names: DatasetNames;
  readonly folder: string;
  /** `null` for a dataset of the data folder that is not configured. */
  readonly config: DatasetConfig | null;
}

export function isFed({ config }: Pick<PlannedDataset, 'config'>): boolean {
  return config !== null && config.sources.length > 0;
}

/** Returns the configured datasets and the other datasets of the data folder. */
export async function planDatasets(
  config: Config,
  dependencies: { readonly fs: Fs; readonly log: Logger },
): Promise<PlannedDataset[]> {
  const listed: PlannedDataset[] = [];
  for (const dataset of config.datasets) {
    const folder = datasetFolder(dataset, config);
    const manifest = await readManifestIfAny(folder, dependencies.fs);
    const { name, aliases = manifest?.aliases ?? [], dialects = config.dialects } = dataset;
    listed.push({ names: { name, aliases, dialects }, folder, config: dataset });
  }
  if (!config.serveUnlisted) return listed;
  return [...listed, ...(await planUnlisted(config, listed, dependencies))];
}

async function planUnlisted(
  { data, dialects }: Config,
  listed: readonly PlannedDataset[],
  { fs, log }: { readonly fs: Fs; readonly log: Logger },
): Promise<PlannedDataset[]> {
  const folders = new Set(listed.map(({ folder }) => resolve(folder)));
  const taken = new Set(listed.flatMap(({ names }) => [names.name, ...names.aliases]));
  const unlisted: PlannedDataset[] = [];
  for (const folderName of await findDatasets(data, fs)) {
    const folder = join(data, folderName);
    if (folders.has(resolve(folder))) continue;
    const manifest = await readManifestIfAny(folder, fs);
    const { name, aliases } = manifest ?? { name: basename(folder), aliases: [] };
    const names = [name, ...aliases];
    if (names.some((used) => taken.has(used))) {
      const error = new CodedError('dataset-name-taken', { dataset: name, folder: folderName });
      log.error({ dataset: name, code: error.code }, error.message);
      continue;
    }
    for (const used of names) taken.add(used);
    unlisted.push({ names: { name, aliases, dialects }, folder, config: null });
  }
  return unlisted;
}

/** Ignores an invalid manifest, which is reported when the dataset is opened. */
async function readManifestIfAny(folder: string, fs: Fs): Promise<Manifest | undefined> {
  try {
    return await readManifest(fs, folder);
  } catch (error) {
    if (isCodedError(error)) return undefined;
    throw error;
  }
}

/** Returns the folders to lock: the parent folder of each dataset. */
export function lockedFolders(config: Config): string[] {
  const folders = config.datasets.map((dataset) => dirname(datasetFolder(dataset, config)));
  return [...new Set([config.data, ...folders].map((folder) => resolve(folder)))];
}
