import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBench } from './run-bench.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-bench-lookup-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('default: the lookup benchmark finds the stored signatures, and prints the time of each kind of lookup', async () => {
  const how = ['--segments', '30', '--runs', '1', '--repeat', '2'];
  const { code, out } = await runBench(folder, ['lookup', ...how]);
  expect(code).toBe(0);
  expect(out).toContain('30 segments');
  expect(out.match(/p50 \d+ ms, p95 \d+ ms/g)).toHaveLength(4);
});
