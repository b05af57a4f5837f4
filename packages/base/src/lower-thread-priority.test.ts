import { once } from 'node:events';
import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { workerUrl } from './worker-url.ts';

/**
 * Reports the niceness of its own thread before and after the call. It runs in a worker thread, because the change
 * cannot be undone.
 */
const script = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { readlinkSync } = require('node:fs');
  const { getPriority } = require('node:os');
  const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  import(workerData).then(({ lowerThreadPriority }) => {
    const before = getPriority(thread);
    lowerThreadPriority();
    parentPort.postMessage([before, getPriority(thread)]);
  });
`;

// Only Linux has per-thread priorities.
test.skipIf(process.platform !== 'linux')(
  'default: the calling thread gets a lower priority but still runs, and the other threads of the process keep theirs',
  async () => {
    const own = getPriority();
    const workerData = workerUrl(import.meta.url, './lower-thread-priority.ts').href;
    const worker = new Worker(script, { eval: true, env: {}, workerData });
    const [[before, after]] = (await once(worker, 'message')) as [[number, number]];
    await worker.terminate();
    expect(before).toBe(own);
    // The process that runs the tests may itself have a lower priority than usual.
    expect(after).toBe(Math.min(19, before + 5));
    expect(getPriority()).toBe(own);
  },
);
