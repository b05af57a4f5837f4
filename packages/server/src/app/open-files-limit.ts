/** Every connection is an open file to the system, which lets a process have only so many of them. */
import { readFileSync } from 'node:fs';
import { CodedError } from '../base/errors.ts';
import { idleCountMax } from '../stream/open-segments.ts';

/** The process, its threads and both listeners before anybody has connected, and the operator's connections. */
const processCount = 80;
/** Journals, threads that prepare and merge, and calls to sources. */
const datasetCount = 32;
/** Modules are loaded many at a time: some 170 files were seen to be open at once. */
const loadingCount = 256;
/** Fewer readers than this are not worth a start. */
const connectionCountMin = 16;

/** How many files this process may have open; `null` where the system does not say. */
export function readOpenFilesMax(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Refuses a limit under which no service could be loaded, whatever it serves. */
export function refuseFewFiles(openFilesMax = readOpenFilesMax()): void {
  if (openFilesMax === null || openFilesMax >= loadingCount) return;
  throw new CodedError('open-files-too-few', { openFilesMax, needed: loadingCount });
}

/**
 * How many connections there may be, so that files of segments, sources and the operator's listener always find room: what is left
 * beside the service itself and its segments, or half where that is not much. Refuses a limit that the service cannot run under.
 */
export function boundConnections(
  openFilesMax: number,
  { datasets, threads }: { readonly datasets: number; readonly threads: number },
): number {
  const own = processCount + datasetCount * datasets;
  const left = openFilesMax - own;
  // Each thread of the engine opens the segments of a dataset for itself.
  const segmentCount = idleCountMax * threads * datasets;
  const count = Math.max(left - segmentCount, Math.floor(left / 2));
  if (count >= connectionCountMin) return count;
  const needed = own + 2 * connectionCountMin;
  throw new CodedError('open-files-too-few', { openFilesMax, needed });
}
