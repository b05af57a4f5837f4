import { CodedError, isCodedError } from '../base/errors.ts';
import type { Fs } from '../storage/fs.ts';
import { findDatasets } from './find-datasets.ts';

/** A folder that is a data folder too is no dataset's: whoever drops the dataset would take those in it along. */
export async function refuseSharedFolder(folder: string, fs: Fs): Promise<void> {
  const found = await findInside(folder, fs);
  if (found.length > 0) {
    throw new CodedError('dataset-folder-shared', { folder, datasets: found.join(' ') });
  }
}

async function findInside(folder: string, fs: Fs): Promise<readonly string[]> {
  try {
    return await findDatasets(folder, fs);
  } catch (error) {
    if (isCodedError(error, 'storage-missing')) return [];
    throw error;
  }
}
