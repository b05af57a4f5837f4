/** Arguments that refer to segments: files, or a dataset of a data folder for all its segments. */

import { existsSync } from 'node:fs';
import { CodedError } from '@sluice/base/errors';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { type MayHave, segmentsFrom } from '../chain/segment-lists.ts';
import { StoredReader } from '../dataset/stored/stored-reader.ts';
import { nodeFs } from '../storage/node-fs.ts';
import type { CommandContext } from './context.ts';
import { listDataFolder } from './list-data-folder.ts';

export interface SegmentChoice {
  readonly arguments: readonly string[];
  readonly data: string;
  /** Returns which segments of a dataset are wanted. By default all of them are. */
  readonly openFilter?:
    | ((reader: StoredReader, name: string) => Promise<MayHave | undefined>)
    | undefined;
  /** Receives the number of a dataset's blocks that are in no segment. By default it is printed as an error. */
  readonly onUnsealed?: ((name: string, blockCount: number) => void) | undefined;
}

/** A file takes precedence over a dataset of the same name. Paths of missing files are returned unchanged and fail when they are read. */
export async function resolveSegments(
  { arguments: given, data, ...how }: SegmentChoice,
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
      return isDataset ? segmentsOf({ data, name: argument, ...how }, err) : [argument];
    }),
  );
  return paths.flat();
}

async function segmentsOf(
  {
    data,
    name,
    openFilter,
    onUnsealed,
  }: Omit<SegmentChoice, 'arguments'> & { readonly name: string },
  err: CommandContext['err'],
): Promise<readonly string[]> {
  const reader = await StoredReader.open(`${data}/${name}`, nodeFs);
  try {
    const snapshot = reader.snapshot();
    const { length } = snapshot.hot;
    if (length > 0 && onUnsealed !== undefined) onUnsealed(name, length);
    else if (length > 0) {
      const blocks = length === 1 ? '1 block' : `${length} blocks`;
      err.write(
        `${name}: ${blocks} are still in the journal, in no segment, and are not included\n`,
      );
    }
    const mayHave = await openFilter?.(reader, name);
    const paths: string[] = [];
    for await (const segment of segmentsFrom(snapshot, 0, reader.readList, mayHave))
      paths.push(reader.segmentPath(segment));
    return paths;
  } finally {
    reader.close();
  }
}
