import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FirstScanReport } from '../../bench/first-scan/report.ts';
import { runBench } from './run-bench.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-first-scan-test-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const blockCount = 6;
/** The test takes seconds on an idle machine. The limit allows for a busy one. */
const msMax = 180_000;

test(
  'default: first-scan imports simulated blocks and measures a query over HTTP',
  async () => {
    const file = join(folder, 'report.json');
    const corpus = ['--blocks', `${blockCount}`, '--seed', '3'];
    const runs = ['--runs', '1', '--repeat', '1', '--warm-seconds', '0', '--streams', '2'];
    const parts = ['--only', 'Q1', '--encodings', 'gzip', '--rival', 'none'];
    const args = ['first-scan', ...corpus, ...runs, ...parts, '--json', file];
    const { code, out, err } = await runBench(folder, args);
    expect(code, err).toBe(0);
    expect(out).toMatch(/import: [\d.]+ blocks\/s, \d+ ms of processor time per block/);
    expect(out).toMatch(/^ +Q1 +gzip /m);
    const { corpus: found, queries } = JSON.parse(readFileSync(file, 'utf8')) as FirstScanReport;
    expect(found.blockCount).toBe(blockCount);
    expect(found.transactionCount).toBeGreaterThan(blockCount);
    expect(queries).toHaveLength(1);
    const [{ answer, cost, scans: [scan] = [] }] = queries as [(typeof queries)[number]];
    // The command and the service read the same segments.
    expect(answer.textBytes).toBe(cost.answerBytes);
    expect(scan?.sentBytes).toBeLessThan(answer.textBytes);
    expect(scan?.streams.streamCount).toBe(2);
    for (const { p50 } of [scan?.firstMs, scan?.repeatedMs, scan?.firstLineMs] as { p50: number }[])
      expect(p50).toBeGreaterThan(0);
    // All files except the report are removed.
    expect(readdirSync(folder)).toEqual(['report.json']);
  },
  msMax,
);

test.each([
  [['--only', 'Q11'], '--only takes Q1 to Q10, not Q11'],
  [['--encodings', 'br'], '--encodings takes identity and gzip, not br'],
  [['--rival', 'sqlite'], '--rival takes duckdb or none, not sqlite'],
  [['--blocks', '0'], '--blocks takes a whole number from 1'],
  [['--corpus', 'missing', '--rival', 'none'], '--corpus cannot be read: ENOENT'],
])('error: first-scan %j is refused with a reason', async (args, reason) => {
  const { code, err } = await runBench(folder, ['first-scan', ...args]);
  expect(code).toBe(2);
  expect(err).toContain(reason);
});
