/** The worker thread that makes one index over segments and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { lowerThreadPriority } from '@sluice/base/lower-thread-priority';
import { openRangeFile, writeFileDurably } from '../../storage/range-file.ts';
import type { IndexFiles } from './index-thread.ts';
import { makeIndex } from './make-index.ts';

const port = parentPort;
assert(port !== null, 'this module runs in a worker thread');
lowerThreadPriority();
const files = { openFile: openRangeFile, writeFile: writeFileDurably };
port.postMessage(makeIndex(workerData as IndexFiles, files));
