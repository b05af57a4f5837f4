import { CodedError } from '@sluice/base/errors';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import type { Fs } from '../../storage/fs.ts';
import { hasBlocks, listIfExists } from '../dataset-files.ts';
import { type Manifest, manifestName, writeManifest } from '../manifest.ts';

export async function createDataset(
  folder: string,
  manifest: Manifest,
  { fs }: { readonly fs: Fs },
): Promise<void> {
  if (!datasetNamePattern.test(manifest.name)) {
    throw new CodedError('dataset-name-invalid', { name: manifest.name });
  }
  await fs.makeFolder(folder);
  await writeManifest(fs, folder, manifest);
  await fs.syncFolder(folder.slice(0, Math.max(folder.lastIndexOf('/'), 1)));
}

/** Returns whether a folder contains a dataset. A dataset that lost its manifest counts, so that it is not overwritten. */
export async function datasetExists(folder: string, fs: Fs): Promise<boolean> {
  const names = await listIfExists(folder, fs);
  return names.includes(manifestName) || (names.length > 0 && (await hasBlocks(folder, fs)));
}
