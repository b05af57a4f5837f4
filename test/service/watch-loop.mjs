// Loaded into a process before its program: at SIGUSR2 it says how late a timer of the main thread was, in ms of the processor's
// time of that thread. What other processes and threads take away is not in it, so that it is the same on a busy machine.
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const everyMs = 5;
/** Of the thread that asks, in nanoseconds; the first of three numbers. */
const processorMs = () =>
  Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;

if (isMainThread) {
  let delays = [];
  let lastMs = processorMs();
  const look = () => {
    const nowMs = processorMs();
    delays.push(nowMs - lastMs);
    lastMs = nowMs;
    setTimeout(look, everyMs);
  };
  look();
  process.on('SIGUSR2', () => {
    const sorted = delays.toSorted((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)];
    delays = [];
    process.stderr.write(
      `${JSON.stringify({ loop: { count: sorted.length, p99, max: sorted.at(-1) } })}\n`,
    );
  });
}
