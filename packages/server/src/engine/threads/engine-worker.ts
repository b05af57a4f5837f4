import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { systemClock } from '@sluice/base/clock';
import { openSegmentFile } from '../../storage/open-segment-file.ts';
import { EngineThread, type EngineWorkerData } from './engine-thread.ts';

const port = parentPort;
assert(port !== null, 'the engine worker runs in a thread');
const data = workerData as EngineWorkerData;
const cachedFiles = data.readsStore
  ? await import('../../object-store/cached-range-file.ts')
  : undefined;
new EngineThread(data, { port, clock: systemClock, openFile: openSegmentFile, cachedFiles });
