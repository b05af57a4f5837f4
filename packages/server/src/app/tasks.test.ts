import { expect, test } from 'vitest';
import { Tasks } from './tasks.ts';

const never = new AbortController().signal;
const untilStopped = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('default: tasks run until they are told to stop, all of them', async () => {
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

test('error: I-91 a task that fails fails everything, also before anyone looks (trap: unhandled rejection)', async () => {
  const tasks = new Tasks();
  const bug = new RangeError('a bug');
  tasks.run(untilStopped);
  tasks.run(() => Promise.reject(bug));
  // Unhandled, it would end the process here, without a line of log.
  await new Promise((resolve) => setImmediate(resolve));
  await expect(tasks.untilFailed(never)).rejects.toBe(bug);
});
