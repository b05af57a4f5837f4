import { once } from 'node:events';
import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { workerUrl } from './worker-url.ts';

/** Tells the niceness of its own thread before and after: for good, which is why it is a thread of its own. */
const script = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { readlinkSync } = require('node:fs');
  const { getPriority } = require('node:os');
  const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  import(workerData).then(({ giveWay }) => {
    const before = getPriority(thread);
    giveWay();
    parentPort.postMessage([before, getPriority(thread)]);
  });
`;

// Elsewhere there is no priority of a thread.
test.skipIf(process.platform !== 'linux')(
  'default: others go before the thread that asks, which comes to no halt, and before no other thread of the process',
  async () => {
    const own = getPriority();
    const workerData = workerUrl(import.meta.url, './give-way.ts').href;
    const worker = new Worker(script, { eval: true, env: {}, workerData });
    const [[before, after]] = (await once(worker, 'message')) as [[number, number]];
    await worker.terminate();
    expect(before).toBe(own);
    // As niceness goes, 19 is the most, and gets next to nothing.
    expect(after).toBeGreaterThan(before);
    expect(after).toBeLessThan(Math.max(before + 1, 15));
    expect(getPriority()).toBe(own);
  },
);
