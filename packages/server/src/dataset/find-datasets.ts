import { isCodedError } from '../base/errors.ts';
import type { Fs } from '../storage/fs.ts';
import { Dataset } from './dataset.ts';
import { datasetNamePattern } from './manifest.ts';

/** The names of the datasets in a data folder, sorted: the folders with a manifest, and those that have lost it. */
export async function findDatasets(dataFolder: string, fs: Fs): Promise<string[]> {
  const found: string[] = [];
  for (const name of await fs.list(dataFolder)) {
    if (datasetNamePattern.test(name) && (await isDataset(`${dataFolder}/${name}`, fs))) {
      found.push(name);
    }
  }
  return found;
}

async function isDataset(folder: string, fs: Fs): Promise<boolean> {
  try {
    return await Dataset.isThere(folder, fs);
  } catch (error) {
    // Not passed over in silence: whoever opens it says what is wrong.
    if (isCodedError(error, 'storage-forbidden')) return true;
    throw error;
  }
}
