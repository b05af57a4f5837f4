import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBench } from './run-bench.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-bench-lookups-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('default: the benchmark of lookups beside followers prints a ratio and writes its figures', async () => {
  const file = join(folder, 'figures.json');
  const load = ['--followers', '50', '--clients', '3', '--history', '50'];
  const how = ['--rounds', '1', '--seconds', '2', '--json', file];
  const { code, out } = await runBench(folder, ['lookups', ...load, ...how]);
  expect(code).toBe(0);
  expect(out).toMatch(/p99 \d+\.\d\d × without lookups/);
  const figures = JSON.parse(readFileSync(file, 'utf8')) as { name: string; value: number }[];
  expect(figures.map(({ name }) => name)).toContain('follower-p99-ratio');
  for (const { value } of figures) expect(value).toBeGreaterThan(0);
});
