import { isCodedError } from '@sluice/base/errors';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import type { Fs } from '../../storage/fs.ts';
import { datasetExists } from './create-dataset.ts';

/** Returns the names of the datasets in a data folder, sorted, including those that lost their manifest. */
export async function findDatasets(dataFolder: string, fs: Fs): Promise<string[]> {
  const names: string[] = [];
  for (const name of await fs.list(dataFolder)) {
    if (datasetNamePattern.test(name) && (await isDataset(`${dataFolder}/${name}`, fs))) {
      names.push(name);
    }
  }
  return names;
}

async function isDataset(folder: string, fs: Fs): Promise<boolean> {
  try {
    return await datasetExists(folder, fs);
  } catch (error) {
    // An unreadable folder is included, so that opening it reports the error.
    if (isCodedError(error, 'storage-forbidden')) return true;
    throw error;
  }
}
