/** Derives the number of connections from the limit of open files, because every connection is an open file. */
import { readFileSync } from 'node:fs';
import { CodedError } from '@sluice/base/errors';
import { idleCountMax } from '../stream/open-segments.ts';

/** Open files of the process, its threads and both listeners, and the connections of operators. */
const processCount = 80;
/** Open files per dataset: the journal, worker threads, and requests to sources. */
const datasetCount = 32;
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
 * of the service and its segments, but at least half of what the service itself leaves. Rejects a limit that is too low.
 */
export function boundConnections(
  openFilesMax: number,
  { datasets, threads }: { readonly datasets: number; readonly threads: number },
): number {
  const own = processCount + datasetCount * datasets;
  const left = openFilesMax - own;
  // Each thread of the engine opens the segments of a dataset separately.
  const segmentCount = idleCountMax * threads * datasets;
  const count = Math.max(left - segmentCount, Math.floor(left / 2));
  if (count >= connectionCountMin) return count;
  const needed = own + 2 * connectionCountMin;
  throw new CodedError('open-files-too-few', { openFilesMax, needed });
}
