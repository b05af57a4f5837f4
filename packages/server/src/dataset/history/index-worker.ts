/** The worker thread that makes one index over segments and ends. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { isCodedError } from '@sluice/base/errors';
import { lowerThreadPriority } from '@sluice/base/lower-thread-priority';
import { collectKeys } from '../../segment/history/collect-keys.ts';
import type { IndexShape } from '../../segment/history/layout.ts';
import { IndexKeys, SegmentKeys } from '../../segment/history/read-index.ts';
import { type KeySource, writeIndex } from '../../segment/history/write-index.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { temporarySuffix } from '../../storage/fs.ts';
import { openRangeFile, type RangeFile } from '../../storage/range-file.ts';
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
    return { kind: 'made', shape: writeDurably(sources, target) };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: 'failed', code: error.code, detail: error.detail };
  } finally {
    for (const file of open) file.close();
  }
}

function writeDurably(sources: readonly KeySource[], target: string): IndexShape {
  mkdirSync(dirname(target), { recursive: true });
  const temporary = `${target}${temporarySuffix}`;
  const file = openSync(temporary, 'w');
  let shape: IndexShape;
  try {
    shape = writeIndex(sources, (position, bytes) => {
      for (let done = 0; done < bytes.length; )
        done += writeSync(file, bytes, done, bytes.length - done, position + done);
    });
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, target);
  const folder = openSync(dirname(target), 'r');
  fsyncSync(folder);
  closeSync(folder);
  return shape;
}
