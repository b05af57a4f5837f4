import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import type { Fs } from '../../storage/fs.ts';
import { checkFolderNotShared } from './check-folder-not-shared.ts';

/** No dataset name has this suffix, so a partially removed folder is never mistaken for a dataset. */
const droppedSuffix = '.dropped';

/** Removes a dataset that is not open. The caller must hold the lock of the data folder. */
export async function dropDataset(
  { dataFolder, name }: { readonly dataFolder: string; readonly name: string },
  fs: Fs,
): Promise<void> {
  await checkFolderNotShared(`${dataFolder}/${name}`, fs);
  const dropped = `${dataFolder}/${name}${droppedSuffix}`;
  await fs.rename(`${dataFolder}/${name}`, dropped);
  await fs.syncFolder(dataFolder);
  await fs.removeFolder(dropped);
}

/**
 * Removes the folders that interrupted calls of `dropDataset` left. The caller must hold the lock of the data folder.
 */
export async function removeDropped(dataFolder: string, fs: Fs): Promise<void> {
  for (const name of await fs.list(dataFolder)) {
    const isDropped =
      name.endsWith(droppedSuffix) && datasetNamePattern.test(name.slice(0, -droppedSuffix.length));
    if (isDropped) await fs.removeFolder(`${dataFolder}/${name}`);
  }
}
