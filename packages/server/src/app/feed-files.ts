import { availableParallelism } from 'node:os';
import type { Dataset } from '../dataset/dataset.ts';
import { SegmentMerger } from '../dataset/merge/segment-merger.ts';
import { type ImportProgress, importBlocks } from '../ingest/import-blocks.ts';
import { readBlockFiles } from '../source/read-block-files.ts';
import { Closers } from './closers.ts';
import { startPreparing } from './start-preparing.ts';

export interface FeedFilesModules {
  readonly signal: AbortSignal;
  /** So many more bytes of the files were read. */
  readonly onRead: (byteCount: number) => void;
  readonly onBlock: (byteLength: number) => void;
}

/** More threads than this wait for the one that reads lines and merges. */
const workerCountMax = 8;

/** Puts the blocks of files into an open dataset, by threads of its own. What came before an error stays. */
export async function feedFiles(
  dataset: Dataset,
  paths: readonly string[],
  { signal, onRead, onBlock }: FeedFilesModules,
): Promise<ImportProgress> {
  const closers = new Closers();
  try {
    const workerCount = Math.min(availableParallelism(), workerCountMax);
    const preparing = { workerCount, form: 'draft' } as const;
    const prepare = startPreparing(dataset.description, preparing, closers);
    const merger = new SegmentMerger({ isLowPriority: false });
    closers.add(() => merger.close());
    const lines = readBlockFiles(paths, { onRead }, signal);
    return await importBlocks(lines, { dataset, prepare, merger, onBlock }, signal);
  } finally {
    await closers.closeAll();
  }
}
