/** Imports the files of blocks that are configured as a source of a running dataset, once each. */

import type { Clock } from '@sluice/base/clock';
import { type CodedError, type ErrorCode, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { Logger } from 'pino';
import type { Dataset } from '../dataset/dataset.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { feedFiles } from './feed-files.ts';
import { describeFile, loadFilesRead, saveFilesRead } from './files-read.ts';

export interface TakeFilesOptions {
  readonly folder: string;
  /** In the order of their blocks. */
  readonly paths: readonly string[];
  /** Whether other sources deliver the blocks after them. */
  readonly hasOtherSources: boolean;
}

export interface TakeFilesDependencies {
  readonly clock: Clock;
  readonly log: Logger;
}

/** A file is retried at a fixed interval, because someone must repair it. A failing disk is retried with a growing interval. */
const retryMsMax = 30_000;
const retryMsMin = 1_000;
const progressMs = 10_000;
const alarm = 'files-unread';

/**
 * Resolves when all files are imported or the signal aborts. A failure raises an alarm and is retried. If the file itself is invalid
 * and the dataset has other sources, the remaining files are skipped: the other sources continue above the imported blocks.
 */
export async function takeFiles(
  dataset: Dataset,
  options: TakeFilesOptions,
  dependencies: TakeFilesDependencies,
  signal: AbortSignal,
): Promise<void> {
  for (let retryMs = retryMsMin; !signal.aborted; retryMs = Math.min(retryMs * 2, retryMsMax)) {
    try {
      await takeOnce(dataset, options, dependencies, signal);
      dataset.alarms.clear(alarm);
      return;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      if (signal.aborted) return;
      dataset.alarms.raise(alarm, error);
      const isTransient = isTransientFailure(error);
      if (!isTransient && options.hasOtherSources && dataset.snapshot().head !== null) return;
      await dependencies.clock.sleep(isTransient ? retryMs : retryMsMax, signal);
      if (error.code === 'dataset-write-failed') await reopen(dataset);
    }
  }
}

/** Error codes of a disk, a network or a system that may recover without a repair of the file. */
const transientReasons = new Set([
  'EIO',
  'EAGAIN',
  'EBUSY',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ESTALE',
  'ETIMEDOUT',
]);
const writeFailures = new Set<ErrorCode>([
  'storage-full',
  'storage-forbidden',
  'storage-failed',
  'dataset-write-failed',
]);

function isTransientFailure({ code, cause }: CodedError): boolean {
  return writeFailures.has(code) || transientReasons.has(systemErrorCode(cause) ?? '');
}

/** Opens the journal again after a failed write. If that fails, the next attempt reports it. */
async function reopen(dataset: Dataset): Promise<void> {
  try {
    await dataset.reopen();
  } catch (error) {
    if (!isCodedError(error)) throw error;
  }
}

async function takeOnce(
  dataset: Dataset,
  { folder, paths }: TakeFilesOptions,
  { clock, log }: TakeFilesDependencies,
  signal: AbortSignal,
): Promise<void> {
  const read = await loadFilesRead(folder, nodeFs);
  for (const path of paths) {
    const { byteLength, state } = await describeFile(path);
    if (read.get(path) === state) continue;
    const progress = { dataset: dataset.description.name, path, blocks: 0, percent: 0 };
    let readBytes = 0;
    let loggedMs = clock.nowMs();
    log.info(progress, 'reading a file of blocks');
    await feedFiles(dataset, [path], {
      signal,
      onRead: (byteCount) => {
        readBytes += byteCount;
        if (byteLength !== null) progress.percent = Math.floor((100 * readBytes) / byteLength);
      },
      onBlock: () => {
        progress.blocks += 1;
        if (clock.nowMs() - loggedMs < progressMs) return;
        loggedMs = clock.nowMs();
        log.info(progress, 'reading a file of blocks');
      },
    });
    if (signal.aborted) return;
    log.info(progress, 'a file of blocks is read');
    await saveFilesRead(folder, read.set(path, state), nodeFs);
  }
}
