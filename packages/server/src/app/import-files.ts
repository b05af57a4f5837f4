/** The composition of an import: files of blocks into one dataset of a data folder. */

import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { standardInput } from '@sluice/source/files/open-byte-stream';
import { openSource } from '@sluice/source/open-source';
import type { Dataset } from '../dataset/dataset.ts';
import type { DatasetDescription } from '../dataset/dataset-reader.ts';
import type { Manifest } from '../dataset/manifest.ts';
import { datasetExists } from '../dataset/stored/create-dataset.ts';
import { dropDataset } from '../dataset/stored/drop-dataset.ts';
import type { ImportProgress } from '../ingest/import-blocks.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { Closers } from './closers.ts';
import { feedFiles } from './feed-files.ts';
import { describeFile } from './files-read.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { openOrCreateDataset } from './open-dataset.ts';

export interface ImportOptions {
  readonly dataFolder: string;
  readonly name: string;
  readonly paths: readonly string[];
  /** A node that knows the hash of a parent that is neither in the files nor in the dataset, as for the first block of an archive. */
  readonly rpc?: string | undefined;
  readonly manifest: Pick<Manifest, 'votes' | 'metaOptional' | 'allowMissing'>;
}

export interface ImportFilesDependencies {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called when the dataset is open, with the options that it was created with. */
  readonly onOpen: (description: DatasetDescription) => void;
  /** Called with the share of the bytes that was read so far. Not called if the total size is unknown. */
  readonly onRead: (share: number) => void;
  readonly onBlock: (byteLength: number) => void;
}

export interface ImportSummary extends ImportProgress {
  /** The first slot and the last block; null if the dataset is empty. */
  readonly range: readonly [start: number, head: number] | null;
}

/** Imports until the files end. Blocks imported before an interruption or an error stay. */
export async function importFiles(
  options: ImportOptions,
  dependencies: ImportFilesDependencies,
): Promise<ImportSummary> {
  const { name, paths } = options;
  const { signal, onBlock } = dependencies;
  if (!datasetNamePattern.test(name)) throw new CodedError('dataset-name-invalid', { name });
  const totalBytes = await measureFiles(paths);
  const closers = new Closers();
  try {
    const dataset = await openTarget(options, dependencies, closers);
    let readBytes = 0;
    const onRead = (byteCount: number) => {
      readBytes += byteCount;
      if (totalBytes !== undefined) dependencies.onRead(readBytes / totalBytes);
    };
    const findHash =
      options.rpc === undefined ? undefined : openHashFinder(options.rpc, dependencies, closers);
    const progress = await feedFiles(dataset, paths, { signal, onRead, onBlock, findHash });
    const { start, head } = dataset.snapshot();
    if (signal.aborted) {
      throw new CodedError('import-interrupted', { dataset: name, head: head?.number ?? null });
    }
    return { ...progress, range: start === null || head === null ? null : [start, head.number] };
  } finally {
    await closers.closeAll();
  }
}

/** Returns a function that asks a node for the hash of a block. Throws if the node does not have it. */
function openHashFinder(
  url: string,
  { clock, signal }: ImportFilesDependencies,
  closers: Closers,
): (slot: Slot) => Promise<BlockHash | undefined> {
  const random = Random.fromSeed(0);
  const source = openSource({ kind: 'rpc', name: 'rpc-1', url, wsUrls: [] }, { clock, random });
  closers.add(() => source.close());
  return async (slot) => {
    const header = await source.header(slot, 'finalized', signal);
    if (header.kind === 'ok') return header.value.hash;
    throw new CodedError('import-parent-unknown', { slot, cause: header.cause });
  };
}

/**
 * Returns the total size of the files; undefined if one of them is a pipe. Called before anything is created or locked, so that a
 * mistyped name has no effect.
 */
async function measureFiles(paths: readonly string[]): Promise<number | undefined> {
  let bytes: number | undefined = 0;
  for (const path of paths) {
    const { byteLength } = path === standardInput ? { byteLength: null } : await describeFile(path);
    bytes = bytes === undefined || byteLength === null ? undefined : bytes + byteLength;
  }
  return bytes;
}

async function openTarget(
  { dataFolder, name, manifest }: ImportOptions,
  { clock, onOpen }: ImportFilesDependencies,
  closers: Closers,
): Promise<Dataset> {
  const lock = await lockDataFolder(dataFolder);
  closers.add(() => lock.release());
  const isNew = !(await datasetExists(`${dataFolder}/${name}`, nodeFs));
  const dataset = await openOrCreateDataset(
    { folder: `${dataFolder}/${name}`, name, realTime: false, manifest },
    { fs: nodeFs, clock, lock },
  );
  closers.add(async () => {
    const isEmpty = dataset.snapshot().start === null;
    await dataset.close();
    // A new dataset without any block is removed again.
    if (isNew && isEmpty) await dropDataset({ dataFolder, name }, nodeFs);
  });
  onOpen(dataset.description);
  return dataset;
}
