/**
 * Derives the number of connections from the limit of open files, because every connection is an open file, and raises an alarm while
 * no file can be opened.
 */
import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { AlarmBoard } from '../dataset/alarm-board.ts';
import { idleCountMax } from '../stream/open-segments.ts';

/** Open files of the process, its threads and both listeners, and the connections of operators. */
const processCount = 80;
/** Open files per dataset: the journal, worker threads, and requests to sources. */
const datasetCount = 32;
/** Open files per dataset in an object store: the cache of objects. */
const cacheCount = 256;
/** About 170 files are open at once while modules are loaded. */
const loadingCount = 256;
/** The service does not start with fewer connections. */
const connectionCountMin = 16;

/** Returns the limit of open files of this process; `null` if it is unknown. */
export function readOpenFilesMax(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Rejects a limit that is too low to load the service. */
export function refuseFewFiles(openFilesMax = readOpenFilesMax()): void {
  if (openFilesMax === null || openFilesMax >= loadingCount) return;
  throw new CodedError('open-files-too-few', { openFilesMax, needed: loadingCount });
}

/**
 * Returns the largest number of connections that leaves enough files for segments, sources and operators: the limit minus the files
 * of the service and its segments, but at least half of the files that the service itself does not need. Rejects a limit that is too low.
 */
export function boundConnections(
  openFilesMax: number,
  {
    datasets,
    threads,
    readsStore,
  }: { readonly datasets: number; readonly threads: number; readonly readsStore: boolean },
): number {
  const reserved = processCount + (datasetCount + (readsStore ? cacheCount : 0)) * datasets;
  const left = openFilesMax - reserved;
  // Each thread of the engine opens the segments of a dataset separately.
  const segmentCount = idleCountMax * threads * datasets;
  const count = Math.max(left - segmentCount, Math.floor(left / 2));
  if (count >= connectionCountMin) return count;
  const needed = reserved + 2 * connectionCountMin;
  throw new CodedError('open-files-too-few', { openFilesMax, needed });
}

/** How many files the watch opens at once. With fewer free ones, the next query or connection may already fail. */
const probeCount = 8;
const watchEveryMs = 2_000;

export interface WatchOpenFilesDependencies {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Opens any file; by default `/dev/null`. */
  readonly openFile?: () => Promise<Pick<FileHandle, 'close'>>;
}

/** Raises an alarm on all boards while the process, or the machine, has no free file descriptors. */
export async function watchOpenFiles(
  boards: readonly AlarmBoard[],
  { clock, signal, openFile = () => open('/dev/null') }: WatchOpenFilesDependencies,
): Promise<void> {
  while (!signal.aborted) {
    const errno = await probeOpenFiles(openFile);
    for (const alarms of boards) {
      if (errno === undefined) alarms.clear('open-files-exhausted');
      else alarms.raise('open-files-exhausted', `no further file can be opened (${errno})`);
    }
    await clock.sleep(watchEveryMs, signal);
  }
}

/** Returns the error if there are too few free descriptors. */
async function probeOpenFiles(
  openFile: () => Promise<Pick<FileHandle, 'close'>>,
): Promise<string | undefined> {
  const files: Pick<FileHandle, 'close'>[] = [];
  try {
    for (let i = 0; i < probeCount; i++) files.push(await openFile());
    return undefined;
  } catch (error) {
    const errno = systemErrorCode(error);
    if (errno === 'EMFILE' || errno === 'ENFILE') return errno;
    throw error;
  } finally {
    for (const file of files) await file.close();
  }
}
