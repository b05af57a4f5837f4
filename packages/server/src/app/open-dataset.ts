import type { Clock } from '../base/clock.ts';
import { Dataset } from '../dataset/dataset.ts';
import type { Manifest } from '../dataset/manifest.ts';
import type { Fs } from '../storage/fs.ts';
import type { WriterLock } from '../storage/writer-lock.ts';

export interface OpenDatasetOptions {
  /** The data folder; the dataset has a folder of its name in it. */
  readonly dataFolder: string;
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
  { dataFolder, name, realTime, manifest }: OpenDatasetOptions,
  { fs, clock, lock }: OpenDatasetModules,
): Promise<Dataset> {
  const modules = { fs, clock, isLockHeld: () => lock.isHeld };
  const folder = `${dataFolder}/${name}`;
  if (!(await Dataset.isThere(folder, fs))) {
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
