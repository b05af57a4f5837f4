import { setImmediate } from 'node:timers/promises';
import { collectGarbage } from '@sluice/base/memory/collect-garbage';
import { expect, test } from 'vitest';
import { act } from './actions.ts';
import { simulate } from './simulate.ts';
import { World } from './world.ts';

async function run(...args: string[]) {
  const lines: string[] = [];
  const code = await simulate(args, (line) => lines.push(line));
  return { code, lines };
}

test('behavior: a seed replays a simulation of the service exactly, and another one gives another run', async () => {
  const first = await run('--seed', '1', '--steps', '4000');
  const second = await run('--seed', '1', '--steps', '4000');
  const other = await run('--seed', '2', '--steps', '4000');
  expect(first.lines).toHaveLength(2);
  expect(first.code).toBe(0);
  expect(first.lines.at(-1)).toMatch(/^digest [0-9a-f]{64}$/);
  expect(second).toEqual(first);
  expect(other.code).toBe(0);
  expect(other.lines.at(-1)).not.toBe(first.lines.at(-1));
});

/** Collects garbage again and again while the service runs. */
async function runWithCollections(...args: string[]) {
  const events: string[] = [];
  const code = await simulate([...args, '--trace'], (line) => {
    events.push(line);
    if (events.length % 50 === 0) collectGarbage();
  });
  return { code, digest: events.at(-1) };
}

test('behavior: the moments at which garbage is collected change nothing in a simulation', async () => {
  const args = ['--seed', '11', '--steps', '4000', '--storage', 'cluster'];
  const { code, lines } = await run(...args);
  expect(await runWithCollections(...args)).toEqual({ code, digest: lines.at(-1) });
  expect(code).toBe(0);
});

test.each([
  [['--steps', 'abc'], '--steps takes a whole number from 1'],
  [['--steps', '0'], '--steps takes a whole number from 1'],
  [['--seconds', 'x'], '--seconds takes a whole number from 1'],
  [['--seed', 'foo'], '--seed takes a whole number from 0'],
  [['--seed', '1', '--actions', '1e3'], '--actions takes a whole number from 0'],
  [['--seed', '1', '--skip', '3-x'], '--skip takes ranges of actions, such as 0-9,20-29'],
  [['--storage', 'tape'], '--storage takes folder, bucket or cluster'],
  [['--sede', '4'], expect.stringContaining("Unknown option '--sede'")],
])('behavior: %j is refused with the usage', async (args, message) => {
  const { code, lines } = await run(...args);
  expect(code).toBe(2);
  expect(lines).toEqual([message, expect.stringMatching(/^usage: npm run simulate/)]);
});

/** The worlds are created in a separate function, so that the stack frame of the test never references them. */
async function runAndDrop(): Promise<readonly { freed: WeakRef<World>; crashes: number }[]> {
  const results = [];
  for (const storage of ['folder', 'bucket', 'cluster'] as const) {
    const world = new World({ seed: 1, steps: 4_000, storage, act });
    const { failure, counts } = await world.run();
    expect(failure).toBe(undefined);
    results.push({ freed: new WeakRef(world), crashes: counts.get('kill') ?? 0 });
  }
  return results;
}

test('limit: the memory of a world is freed when it has ended, with all processes that were killed in it', async () => {
  const results = await runAndDrop();
  // Objects that wait for the callback of a finalization registry are freed by the second collection.
  for (let i = 0; i < 2; i++) {
    await setImmediate();
    collectGarbage();
  }
  await setImmediate();
  expect(results.map(({ freed }) => freed.deref() === undefined)).toEqual([true, true, true]);
  expect(results.every(({ crashes }) => crashes > 0)).toBe(true);
});
