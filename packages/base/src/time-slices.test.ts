import { expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';
import { runInTimeSlices, type Steps } from './time-slices.ts';

function busyFor(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** Work of `stepCount` steps, each longer than a time slice, that records each finished step. */
function* longSteps(name: string, stepCount: number, notes: string[]): Steps<string> {
  for (let step = 0; step < stepCount; step++) {
    busyFor(5);
    notes.push(name);
    yield;
  }
  return name;
}

/** Records every iteration of the event loop, before anything else that happens in it. */
async function recordIterations(notes: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await new Promise((resolve) => setImmediate(resolve));
    notes.push('|');
  }
}

test('limit: an event loop iteration runs only one step, even if much work is queued', async () => {
  const notes: string[] = [];
  const over = new AbortController();
  const rounds = recordIterations(notes, over.signal);
  const names = ['a', 'b', 'c', 'd'];
  const work = names.map((name) => runInTimeSlices(longSteps(name, 3, notes)));
  expect(await Promise.all(work)).toEqual(names);
  over.abort();
  await rounds;
  expect(notes.filter((note) => note !== '|')).toHaveLength(12);
  expect(notes.join('')).not.toMatch(/[a-d]{2}/);
});

test('behavior: short work that is queued later does not wait for long work to finish', async () => {
  const notes: string[] = [];
  const long = Promise.all(['a', 'b'].map((name) => runInTimeSlices(longSteps(name, 20, notes))));
  await new Promise((resolve) => setImmediate(resolve));
  const before = notes.length;
  await runInTimeSlices(longSteps('short', 1, notes));
  expect(notes.slice(before).indexOf('short')).toBeLessThanOrEqual(1);
  await long;
});

test('behavior: short work finishes at once, without one event loop iteration each', async () => {
  await new Promise((resolve) => setImmediate(resolve));
  // The clock stands still, because a preemption in the middle would make the work count as long.
  const clock = vi.spyOn(systemClock, 'nowMs').mockReturnValue(systemClock.nowMs());
  const done: number[] = [];
  // biome-ignore lint/correctness/useYield: this is the shortest possible work.
  function* short(n: number): Steps<number> {
    return n;
  }
  for (let n = 0; n < 20; n++) void runInTimeSlices(short(n)).then((value) => done.push(value));
  // Microtasks only: no event loop iteration happens before these are done.
  for (let step = 0; step < 100; step++) await Promise.resolve();
  clock.mockRestore();
  expect(done).toHaveLength(20);
});

test('error: work that throws rejects its own promise, and other work continues', async () => {
  const notes: string[] = [];
  function* failing(): Steps<never> {
    busyFor(5);
    yield;
    throw new Error('step failed');
  }
  const failed = runInTimeSlices(failing());
  const other = runInTimeSlices(longSteps('other', 2, notes));
  await expect(failed).rejects.toThrow('step failed');
  expect(await other).toBe('other');
});
