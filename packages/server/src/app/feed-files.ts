import { availableParallelism } from 'node:os';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import { LineBuffers } from '@sluice/source/files/line-buffers';
import { readBlockFiles } from '@sluice/source/files/read-block-files';
import type { Dataset } from '../dataset/dataset.ts';
import { SegmentMerger } from '../dataset/merge/segment-merger.ts';
import {
  findStored,
  type ImportDependencies,
  type ImportProgress,
  importBlocks,
} from '../ingest/import-blocks.ts';
import { Closers } from './closers.ts';
import { startPreparers } from './start-preparing.ts';

export interface FeedFilesDependencies {
  readonly signal: AbortSignal;
  /** Called with the number of bytes that were read from the files. */
  readonly onRead: (byteCount: number) => void;
  readonly onBlock: (byteLength: number) => void;
  /** Returns the hash of a block that is not stored, if a source has it. */
  readonly findHash?: ((slot: Slot) => Promise<BlockHash | undefined>) | undefined;
}

/** More threads would only wait for the thread that reads lines and merges. */
const workerCountMax = 8;

/** Imports the blocks of files into an open dataset with its own worker threads. Blocks before an error stay imported. */
export async function feedFiles(
  dataset: Dataset,
  paths: readonly string[],
  { signal, onRead, onBlock, findHash }: FeedFilesDependencies,
): Promise<ImportProgress> {
  const closers = new Closers();
  try {
    const workerCount = Math.min(availableParallelism(), workerCountMax);
    const preparing = { workerCount, form: 'draft' } as const;
    const pool = startPreparers(dataset.description, preparing, closers);
    const merger = new SegmentMerger({ speed: 'full' });
    closers.add(() => merger.close());
    const memory = new LineBuffers();
    const storedHash = async (slot: Slot) => {
      const stored = await findStored(dataset, slot);
      return stored?.number === slot ? stored.hash : await findHash?.(slot);
    };
    const storedHead = () => dataset.snapshot().head?.number;
    const reading = { onRead, memory, storedHash, storedHead };
    const lines = readBlockFiles(paths, reading, signal);
    const dependencies: ImportDependencies = {
      dataset,
      prepare: (slot, bytes, format) => pool.normalize(slot, bytes, format),
      merger,
      onBlock,
      onLineRead: (bytes) => memory.release(bytes),
      onDraftRead: (bytes) => pool.giveBack(bytes),
    };
    return await importBlocks(lines, dependencies, signal);
  } finally {
    await closers.closeAll();
  }
}
