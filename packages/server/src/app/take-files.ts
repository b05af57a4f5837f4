/** Files of blocks as a source of a running dataset: read once, then done. */
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { isCodedError } from '../base/errors.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { feedFiles } from './feed-files.ts';
import { describeFile, loadFilesRead, saveFilesRead } from './files-read.ts';

export interface TakeFilesOptions {
  /** The dataset's own. */
  readonly folder: string;
  /** In the order of their blocks. */
  readonly paths: readonly string[];
  /** Whether others bring what comes after them. */
  readonly hasOtherSources: boolean;
}

export interface TakeFilesModules {
  readonly clock: Clock;
  readonly log: Logger;
}

/** A disk that is full may have room again, and a file may be mended. */
const retryMs = 30_000;
const progressMs = 10_000;
const alarm = 'files-unread';

/**
 * Resolves when all files are read or the signal aborts. What cannot be read is alarmed and tried again, unless the dataset
 * can go on by other sources: those link to what came, so nothing is passed over.
 */
export async function takeFiles(
  dataset: Dataset,
  options: TakeFilesOptions,
  modules: TakeFilesModules,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await takeOnce(dataset, options, modules, signal);
      dataset.alarms.clear(alarm);
      return;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      if (signal.aborted) return;
      dataset.alarms.raise(alarm, error.message);
      if (options.hasOtherSources && dataset.snapshot().head !== null) return;
      await modules.clock.sleep(retryMs, signal);
    }
  }
}

async function takeOnce(
  dataset: Dataset,
  { folder, paths }: TakeFilesOptions,
  { clock, log }: TakeFilesModules,
  signal: AbortSignal,
): Promise<void> {
  const read = await loadFilesRead(folder, nodeFs);
  for (const path of paths) {
    const { byteLength, state } = await describeFile(path);
    if (read.get(path) === state) continue;
    const progress = { dataset: dataset.description.name, path, blocks: 0, percent: 0 };
    let readBytes = 0;
    let saidMs = clock.nowMs();
    log.info(progress, 'reading a file of blocks');
    await feedFiles(dataset, [path], {
      signal,
      onRead: (byteCount) => {
        readBytes += byteCount;
        progress.percent = Math.floor((100 * readBytes) / byteLength);
      },
      onBlock: () => {
        progress.blocks += 1;
        if (clock.nowMs() - saidMs < progressMs) return;
        saidMs = clock.nowMs();
        log.info(progress, 'reading a file of blocks');
      },
    });
    if (signal.aborted) return;
    log.info(progress, 'a file of blocks is read');
    await saveFilesRead(folder, read.set(path, state), nodeFs);
  }
}
