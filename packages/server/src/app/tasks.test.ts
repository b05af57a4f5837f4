import { expect, test } from 'vitest';
import { Tasks } from './tasks.ts';

const never = new AbortController().signal;
const untilStopped = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('default: all tasks run until they are stopped', async () => {
  const tasks = new Tasks();
  const ended: string[] = [];
  for (const name of ['a', 'b']) {
    tasks.run(async (signal) => {
      await untilStopped(signal);
      ended.push(name);
    });
  }
  const stop = new AbortController();
  const running = tasks.untilFailed(stop.signal);
  stop.abort();
  await running;
  expect(ended).toEqual([]);
  await tasks.stop();
  expect(ended).toEqual(['a', 'b']);
});

test('error: I-91 a task that fails ends all others, and its rejection is handled even before it is awaited (trap: unhandled rejection)', async () => {
  const tasks = new Tasks();
  const bug = new RangeError('a bug');
  tasks.run(untilStopped);
  tasks.run(() => Promise.reject(bug));
  // An unhandled rejection would end the process here without a log entry.
  await new Promise((resolve) => setImmediate(resolve));
  await expect(tasks.untilFailed(never)).rejects.toBe(bug);
});
