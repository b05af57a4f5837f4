// Preloaded into a process: on SIGUSR2 it prints how late a timer of the main thread was, in milliseconds of CPU time
// of that thread. Time that other processes and threads take does not count, so the result is independent of the load.
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const everyMs = 5;
/** Returns the CPU time of the calling thread in milliseconds. The first number in the file has it in nanoseconds. */
const processorMs = () =>
  Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;

if (isMainThread) {
  let delays = [];
  let lastMs = processorMs();
  const measureDelay = () => {
    const nowMs = processorMs();
    delays.push(nowMs - lastMs);
    lastMs = nowMs;
    setTimeout(measureDelay, everyMs);
  };
  measureDelay();
  process.on('SIGUSR2', () => {
    const sorted = delays.toSorted((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)];
    delays = [];
    process.stderr.write(
      `${JSON.stringify({ loop: { count: sorted.length, p99, max: sorted.at(-1) } })}\n`,
    );
  });
}
