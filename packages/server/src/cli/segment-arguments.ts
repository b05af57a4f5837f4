/** Arguments that refer to segments: files, or a dataset of a data folder for all its segments. */

import { existsSync } from 'node:fs';
import { CodedError } from '@sluice/base/errors';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { segmentsFrom } from '../chain/segment-lists.ts';
import { SegmentStore } from '../dataset/segment-store.ts';
import { readStoredDataset } from '../dataset/stored/stored-dataset.ts';
import { nodeFs } from '../storage/node-fs.ts';
import type { CommandContext } from './context.ts';
import { listDataFolder } from './list-data-folder.ts';

export interface SegmentChoice {
  readonly arguments: readonly string[];
  /** The data folder of the datasets. */
  readonly data: string;
}

/** A file takes precedence over a dataset of the same name. Paths of missing files are returned unchanged and fail when they are read. */
export async function resolveSegments(
  { arguments: given, data }: SegmentChoice,
  { err }: Pick<CommandContext, 'err'>,
): Promise<readonly string[]> {
  const names = given.filter((argument) => !existsSync(argument));
  if (names.length === 0) return given;
  const datasets = existsSync(data) ? await listDataFolder(data) : [];
  const missing = names.find((name) => datasetNamePattern.test(name) && !datasets.includes(name));
  if (missing !== undefined) {
    const found = datasets.length === 0 ? {} : { found: datasets.join(' ') };
    throw new CodedError('cli-dataset-missing', { dataset: missing, folder: data, ...found });
  }
  const paths = await Promise.all(
    given.map(async (argument) => {
      const isDataset = names.includes(argument) && datasets.includes(argument);
      return isDataset ? segmentsOf(`${data}/${argument}`, argument, err) : [argument];
    }),
  );
  return paths.flat();
}

async function segmentsOf(
  folder: string,
  name: string,
  err: CommandContext['err'],
): Promise<readonly string[]> {
  const { snapshot } = await readStoredDataset(folder, nodeFs);
  const { length } = snapshot.hot;
  if (length > 0) {
    const blocks = length === 1 ? '1 block' : `${length} blocks`;
    err.write(`${name}: ${blocks} are still in the journal, in no segment, and are not included\n`);
  }
  const paths: string[] = [];
  const store = new SegmentStore(folder, nodeFs);
  for await (const segment of segmentsFrom(snapshot, 0, (list) => store.readList(list)))
    paths.push(store.path(segment));
  return paths;
}
