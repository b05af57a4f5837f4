import { expect, test } from 'vitest';
import { simulate } from './simulate.ts';

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
