import { expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';
import { runInTurns, type Steps } from './turns.ts';

function busyFor(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** Work of so many steps, each longer than a turn, that notes when one is done. */
function* longSteps(name: string, stepCount: number, notes: string[]): Steps<string> {
  for (let step = 0; step < stepCount; step++) {
    busyFor(5);
    notes.push(name);
    yield;
  }
  return name;
}

/** Notes every round of the loop, before anything else that happens in it. */
async function noteRounds(notes: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await new Promise((resolve) => setImmediate(resolve));
    notes.push('|');
  }
}

test('limit: however much long work there is, a round of the loop has one step of it', async () => {
  const notes: string[] = [];
  const over = new AbortController();
  const rounds = noteRounds(notes, over.signal);
  const names = ['a', 'b', 'c', 'd'];
  const work = names.map((name) => runInTurns(longSteps(name, 3, notes)));
  expect(await Promise.all(work)).toEqual(names);
  over.abort();
  await rounds;
  expect(notes.filter((note) => note !== '|')).toHaveLength(12);
  expect(notes.join('')).not.toMatch(/[a-d]{2}/);
});

test('behavior: short work that comes later does not wait for long work to end', async () => {
  const notes: string[] = [];
  const long = Promise.all(['a', 'b'].map((name) => runInTurns(longSteps(name, 20, notes))));
  await new Promise((resolve) => setImmediate(resolve));
  const before = notes.length;
  await runInTurns(longSteps('short', 1, notes));
  expect(notes.slice(before).indexOf('short')).toBeLessThanOrEqual(1);
  await long;
});

test('behavior: work that is short is done at once, without a round for each', async () => {
  await new Promise((resolve) => setImmediate(resolve));
  // Were the processor taken away in its midst, it would count as long, and rightly so.
  const clock = vi.spyOn(systemClock, 'nowMs').mockReturnValue(systemClock.nowMs());
  const done: number[] = [];
  // biome-ignore lint/correctness/useYield: the shortest work there is.
  function* short(n: number): Steps<number> {
    return n;
  }
  for (let n = 0; n < 20; n++) void runInTurns(short(n)).then((value) => done.push(value));
  // No round comes before all of these are over.
  for (let step = 0; step < 100; step++) await Promise.resolve();
  clock.mockRestore();
  expect(done).toHaveLength(20);
});

test('error: work that fails fails, and the others go on', async () => {
  const notes: string[] = [];
  function* failing(): Steps<never> {
    busyFor(5);
    yield;
    throw new Error('of the work');
  }
  const failed = runInTurns(failing());
  const other = runInTurns(longSteps('other', 2, notes));
  await expect(failed).rejects.toThrow('of the work');
  expect(await other).toBe('other');
});
