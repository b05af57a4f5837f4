import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import type { Benchmark } from './benchmark.ts';
import type { NormalizeMessage, NormalizeResult } from './normalize-thread.ts';

const delayResolutionMs = 5;

/** The work runs in a worker thread. The event loop delay of the main thread shows whether the work affects it. */
export const normalizeBenchmark: Benchmark = {
  name: 'normalize',
  summary: 'normalizing raw blocks, compared with JSON.parse of the same decoded text',
  async run(print) {
    const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
    const results: NormalizeResult[] = [];
    delay.enable();
    await new Promise<void>((resolve, reject) => {
      const thread = new Worker(new URL('./normalize-thread.js', import.meta.url));
      thread.on('message', (message: NormalizeMessage) => {
        if (message.kind === 'origin') print(message.origin);
        else results.push(message.result);
        if (message.kind === 'block') print(describe(message.result));
      });
      thread.on('error', reject);
      thread.on('exit', () => resolve());
    });
    delay.disable();
    const sum = (of: (result: NormalizeResult) => number) =>
      results.reduce((total, result) => total + of(result), 0);
    const ratio = sum((r) => r.normalize.p50) / sum((r) => r.parse.p50);
    print(`all blocks: ${ratio.toFixed(2)} × JSON.parse (sums of p50)`);
    const ms = (nanoseconds: number) =>
      Math.max(0, nanoseconds / 1e6 - delayResolutionMs).toFixed(1);
    print(
      `event loop delay of the main thread: p50 ${ms(delay.percentile(50))} ms, p99 ${ms(delay.percentile(99))} ms`,
    );
  },
};

function describe(result: NormalizeResult): string {
  const { slot, megabytes, parse, normalize, recordCount, checksum } = result;
  const times = (q: { p50: number; p95: number }) =>
    `p50 ${q.p50.toFixed(1)} p95 ${q.p95.toFixed(1)} ms`;
  return [
    `block ${slot}, ${megabytes.toFixed(2)} MB, ${recordCount} records`,
    `JSON.parse ${times(parse)}`,
    `normalize ${times(normalize)}`,
    `ratio ${(normalize.p50 / parse.p50).toFixed(2)}`,
    `checksum ${checksum}`,
  ].join(' · ');
}
