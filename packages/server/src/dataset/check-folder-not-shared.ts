import { CodedError } from '../base/errors.ts';
import type { Fs } from '../storage/fs.ts';
import { listIfThere } from './dataset-files.ts';
import { findDatasets } from './find-datasets.ts';

/** A folder that is a data folder too is no dataset's: whoever drops the dataset would take those in it along. */
export async function refuseSharedFolder(folder: string, fs: Fs): Promise<void> {
  const found = (await listIfThere(folder, fs)).length > 0 ? await findDatasets(folder, fs) : [];
  if (found.length > 0) {
    throw new CodedError('dataset-folder-shared', { folder, datasets: found.join(' ') });
  }
}
