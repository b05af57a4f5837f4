import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBench } from './run-bench.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-bench-simulator-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('default: the simulator benchmark prints a ratio for each half of a run, from the start and the middle of a window', async () => {
  const args = ['simulator', '--profiles', 'demo', '--rounds', '1', '--blocks', '20'];
  const { code, out } = await runBench(folder, args);
  expect(code).toBe(0);
  const ratio = String.raw`\d+\.\d\d`;
  for (const from of ['start', 'middle']) {
    const row = ` demo, ${from} +20 +[\\d.]+ +${ratio} +${ratio} +${ratio} +[0-9a-f]{16}$`;
    expect(out).toMatch(new RegExp(row, 'm'));
  }
});

test('error: an unknown profile is rejected with the list of known ones', async () => {
  const { code, err } = await runBench(folder, ['simulator', '--profiles', 'tiny']);
  expect(code).toBe(2);
  expect(err).toContain('--profiles accepts demo, 2025 and busy, not tiny');
});
