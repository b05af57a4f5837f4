/** The composition of an import: files of blocks into one dataset of a data folder. */

import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import { Dataset } from '../dataset/dataset.ts';
import type { DatasetDescription } from '../dataset/dataset-reader.ts';
import { dropDataset } from '../dataset/drop-dataset.ts';
import { datasetNamePattern, type Manifest } from '../dataset/manifest.ts';
import { SegmentMerger } from '../dataset/segment-merger.ts';
import { type ImportProgress, importBlocks } from '../ingest/import-blocks.ts';
import { readBlockFiles } from '../source/read-block-files.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { Closers } from './closers.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { openOrCreateDataset } from './open-dataset.ts';
import { startPreparing } from './start-preparing.ts';

export interface ImportOptions {
  readonly dataFolder: string;
  readonly name: string;
  readonly paths: readonly string[];
  /** What a dataset that is not there yet is made as. */
  readonly manifest: Pick<Manifest, 'votes' | 'metaOptional' | 'allowMissing'>;
}

export interface ImportFilesModules {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The dataset is open; what it keeps was fixed when it was made. */
  readonly onOpen: (description: DatasetDescription) => void;
  /** More bytes of the files were read; `share` of them is read by now. */
  readonly onRead: (share: number) => void;
  readonly onBlock: (byteLength: number) => void;
}

export interface ImportSummary extends ImportProgress {
  /** The first slot that can be asked for and the last block's; null if the dataset is empty. */
  readonly range: readonly [start: number, head: number] | null;
}

/** More threads than this wait for the one that reads lines and merges. */
const workerCountMax = 8;

/** Imports until the files end; what was imported before an interruption or an error stays. */
export async function importFiles(
  options: ImportOptions,
  modules: ImportFilesModules,
): Promise<ImportSummary> {
  const { name, paths } = options;
  const { signal, onBlock } = modules;
  if (!datasetNamePattern.test(name)) throw new CodedError('dataset-name-invalid', { name });
  const totalBytes = await measureFiles(paths);
  const closers = new Closers();
  try {
    const dataset = await openTarget(options, modules, closers);
    const workerCount = Math.min(availableParallelism(), workerCountMax);
    const preparing = { workerCount, form: 'draft' } as const;
    const prepare = startPreparing(dataset.description, preparing, closers);
    const merger = new SegmentMerger();
    closers.add(() => merger.close());
    let readBytes = 0;
    const onRead = (byteCount: number) => {
      readBytes += byteCount;
      modules.onRead(readBytes / totalBytes);
    };
    const lines = readBlockFiles(paths, { onRead }, signal);
    const progress = await importBlocks(lines, { dataset, prepare, merger, onBlock }, signal);
    const { start, head } = dataset.snapshot();
    if (signal.aborted) {
      throw new CodedError('import-interrupted', { dataset: name, head: head?.number ?? null });
    }
    return { ...progress, range: start === null || head === null ? null : [start, head.number] };
  } finally {
    await closers.closeAll();
  }
}

/** Before anything is made or locked: a mistyped name leaves nothing behind. */
async function measureFiles(paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) bytes += await fileSize(path);
  return bytes;
}

async function fileSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw unreadable(path, error as NodeJS.ErrnoException);
  }
}

function unreadable(path: string, cause: NodeJS.ErrnoException): CodedError {
  return new CodedError('cli-file-unreadable', { path, reason: cause.code ?? '' }, { cause });
}

async function openTarget(
  { dataFolder, name, manifest }: ImportOptions,
  { clock, onOpen }: ImportFilesModules,
  closers: Closers,
): Promise<Dataset> {
  const lock = await lockDataFolder(dataFolder);
  closers.add(() => lock.release());
  const isNew = !(await Dataset.isThere(`${dataFolder}/${name}`, nodeFs));
  const dataset = await openOrCreateDataset(
    { folder: `${dataFolder}/${name}`, name, realTime: false, manifest },
    { fs: nodeFs, clock, lock },
  );
  closers.add(async () => {
    const isEmpty = dataset.snapshot().start === null;
    await dataset.close();
    // Nobody wants a new dataset that not one block made it into.
    if (isNew && isEmpty) await dropDataset({ dataFolder, name }, nodeFs);
  });
  onOpen(dataset.description);
  return dataset;
}
