/** The worker thread that makes one index over segments and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { lowerThreadPriority } from '@sluice/base/lower-thread-priority';
import { writePieces } from '../../storage/piece-files.ts';
import { openRangeFile, writeFileDurably } from '../../storage/range-file.ts';
import type { IndexWorkerData } from './index-thread.ts';
import { type MakeIndexDependencies, makeIndex } from './make-index.ts';
import { TransferClient } from './transfer-channel.ts';

const port = parentPort;
assert(port !== null, 'this module runs in a worker thread');
lowerThreadPriority();

const { files, channel } = workerData as IndexWorkerData;
const openFile = openRangeFile;
let parts: MakeIndexDependencies = { openFile, openIndex: openFile, writeFile: writeFileDurably };
if (channel !== undefined) {
  const client = new TransferClient(port, channel);
  const { pieceBytes } = channel;
  parts = {
    openFile,
    openIndex: (name) => client.openIndex(name),
    writeFile: (path, fill) =>
      writePieces({ path, pieceBytes, store: (number, file) => client.store(number, file) }, fill),
  };
}
port.postMessage(makeIndex(files, parts));
