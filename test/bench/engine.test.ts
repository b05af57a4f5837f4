import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBench } from './run-bench.ts';

const hasDuckdb = await import('@duckdb/node-api').then(
  () => true,
  () => false,
);

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-bench-test-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bench = (...args: string[]) => runBench(folder, args);

/** Both tests share the corpus that the first one generates. */
const blocks = '3';
/** The test takes seconds on an idle machine. The limit allows for a busy one. */
const msMax = 180_000;
const queryNames = Array.from({ length: 10 }, (_, at) => `Q${at + 1}`);
const name = hasDuckdb ? '' : ' (skipped: @duckdb/node-api does not load here)';

test.skipIf(!hasDuckdb)(
  `default: the engine and DuckDB give the same bytes for all ten queries${name}`,
  async () => {
    const page = join(folder, 'page.md');
    const how = ['--blocks', blocks, '--runs', '2', '--seconds', '0'];
    const { code, out, err } = await bench('engine', ...how, '--modes', 'warm', '--markdown', page);
    expect(err).not.toContain('differ');
    expect(code).toBe(0);
    const rows = out.split('\n').filter((line) => /^ +Q\d/.test(line));
    expect(rows.map((row) => row.trim().split(' ')[0])).toEqual(queryNames);
    // Every response except the headers contains records of several hundred bytes.
    const kilobytes = rows.map((row) => Number(row.trim().split(/ +/)[1]));
    expect(Math.min(...kilobytes.filter((_, at) => at !== 6))).toBeGreaterThan(1);
    expect(out).toContain('writer alone');
    const text = readFileSync(page, 'utf8');
    for (const query of queryNames) expect(text).toContain(`| ${query} |`);
  },
  msMax,
);

test.skipIf(!hasDuckdb)(
  `behavior: cold runs read only from the files${name}`,
  async () => {
    const options = ['--blocks', blocks, '--runs', '1', '--modes', 'cold', '--queries', 'Q9'];
    const { code, out } = await bench('engine', ...options);
    expect(code).toBe(0);
    expect(out.match(/^ +Q\d+ /gm)).toHaveLength(1);
  },
  msMax,
);

test.each([
  [['nothing'], 'no benchmark is named nothing'],
  [['engine', '--block', '3'], "Unknown option '--block'"],
  [['engine', '--blocks', '0'], '--blocks takes a whole number from 1'],
  [['engine', '--modes', 'hot'], '--modes accepts warm and cold, not hot'],
  [['engine', '--queries', 'Q11'], '--queries accepts Q1 to Q10, not Q11'],
  [['normalize', '--runs', '3'], 'normalize takes no options'],
  [['--runs', '3'], 'options need the name of one benchmark'],
])('error: %j is rejected with a reason', async (args, reason) => {
  const { code, err } = await bench(...args);
  expect(code).toBe(2);
  expect(err).toContain(reason);
});

test('default: --list and --help name the benchmarks', async () => {
  expect((await bench('--list')).out.split('\n')).toContain('engine');
  expect((await bench('--help')).out).toContain('--blocks N');
});
