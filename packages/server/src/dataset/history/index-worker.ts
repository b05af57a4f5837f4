/** The worker thread that makes one index over segments and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { isCodedError } from '@sluice/base/errors';
import { lowerThreadPriority } from '@sluice/base/lower-thread-priority';
import { collectKeys } from '../../segment/history/collect-keys.ts';
import { IndexKeys, SegmentKeys } from '../../segment/history/read-index.ts';
import { type KeySource, writeIndex } from '../../segment/history/write-index.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { openRangeFile, type RangeFile, writeFileDurably } from '../../storage/range-file.ts';
import type { IndexFiles, IndexReply } from './index-thread.ts';

const port = parentPort;
assert(port !== null, 'this module runs in a worker thread');
lowerThreadPriority();
port.postMessage(makeIndex(workerData as IndexFiles));

function makeIndex({ segments, runs, target }: IndexFiles): IndexReply {
  const open: RangeFile[] = [];
  try {
    const sources: KeySource[] = segments.map(({ path, first, last }) => {
      const file = openRangeFile(path);
      try {
        return new SegmentKeys({ first, last }, collectKeys(openSegment(file)));
      } finally {
        file.close();
      }
    });
    for (const path of runs) {
      const file = openRangeFile(path);
      open.push(file);
      sources.push(new IndexKeys(file));
    }
    const shape = writeFileDurably(target, (write) => writeIndex(sources, write));
    return { kind: 'made', shape };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: 'failed', code: error.code, detail: error.detail };
  } finally {
    for (const file of open) file.close();
  }
}
