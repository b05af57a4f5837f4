import type { Fs } from '../storage/fs.ts';
import { datasetNamePattern } from './manifest.ts';
import { refuseSharedFolder } from './refuse-shared-folder.ts';

/** No dataset has such a name, so what a crash leaves half removed is never taken for one. */
const droppedSuffix = '.dropped';

/** Removes a dataset that nobody has open. For whoever holds the lock of the data folder. */
export async function dropDataset(
  { dataFolder, name }: { readonly dataFolder: string; readonly name: string },
  fs: Fs,
): Promise<void> {
  await refuseSharedFolder(`${dataFolder}/${name}`, fs);
  const dropped = `${dataFolder}/${name}${droppedSuffix}`;
  await fs.rename(`${dataFolder}/${name}`, dropped);
  await fs.syncFolder(dataFolder);
  await fs.removeFolder(dropped);
}

/** Removes what drops left that were cut short. For whoever holds the lock of the data folder. */
export async function removeDropped(dataFolder: string, fs: Fs): Promise<void> {
  for (const name of await fs.list(dataFolder)) {
    const isDropped =
      name.endsWith(droppedSuffix) && datasetNamePattern.test(name.slice(0, -droppedSuffix.length));
    if (isDropped) await fs.removeFolder(`${dataFolder}/${name}`);
  }
}
