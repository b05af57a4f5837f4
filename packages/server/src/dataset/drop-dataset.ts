import type { Fs } from '../storage/fs.ts';

/** No dataset has such a name, so what a crash leaves half removed is never taken for one. */
const droppedSuffix = '.dropped';

/** Removes a dataset that nobody has open. For whoever holds the lock of the data folder. */
export async function dropDataset(
  { dataFolder, name }: { readonly dataFolder: string; readonly name: string },
  fs: Fs,
): Promise<void> {
  const dropped = `${dataFolder}/${name}${droppedSuffix}`;
  // Left by a crash in here.
  await fs.removeFolder(dropped);
  await fs.rename(`${dataFolder}/${name}`, dropped);
  await fs.syncFolder(dataFolder);
  await fs.removeFolder(dropped);
}
