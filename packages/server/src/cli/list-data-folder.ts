import { addDetail, isCodedError } from '@sluice/base/errors';
import { findDatasets } from '../dataset/stored/find-datasets.ts';
import { nodeFs } from '../storage/node-fs.ts';

/** Returns the names of the datasets in a data folder. Errors contain the folder. */
export async function listDataFolder(folder: string): Promise<string[]> {
  try {
    return await findDatasets(folder, nodeFs);
  } catch (error) {
    throw isCodedError(error) ? addDetail(error, { folder }) : error;
  }
}
