import { CodedError } from '@sluice/base/errors';
import type { Fs } from '../../storage/fs.ts';
import { listIfExists } from '../dataset-files.ts';
import { findDatasets } from './find-datasets.ts';

/**
 * Throws `dataset-folder-shared` if the folder of a dataset is itself a data folder: dropping the dataset would also
 * remove the datasets inside it.
 */
export async function checkFolderNotShared(folder: string, fs: Fs): Promise<void> {
  const datasets =
    (await listIfExists(folder, fs)).length > 0 ? await findDatasets(folder, fs) : [];
  if (datasets.length > 0) {
    throw new CodedError('dataset-folder-shared', { folder, datasets: datasets.join(' ') });
  }
}
