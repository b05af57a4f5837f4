/** Exports as the guide does and runs what reads the files. The programs in Python that read a service are run by `guide.test.ts`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';
import { readCode } from './guide-programs.ts';

const page = 'docs/guide/dataframes.md';
const folder = mkdtempSync(join(tmpdir(), 'sluice-dataframes-'));
const command = join(repositoryRoot, 'packages', 'server', 'bin', 'sluice.js');

function run(line: string): void {
  const { status, stderr } = spawnSync(process.execPath, [command, ...line.split(' ')], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, SLUICE_URL: '' },
  });
  expect(status, stderr).toBe(0);
}

beforeAll(() => {
  run('simulate --seed 5 --start-slot 300 --blocks 30 --out blocks.jsonl');
  run('import --data data --dataset ledger-beta blocks.jsonl');
  const [{ text } = { text: '' }] = readCode(page, 'console');
  for (const line of text.trimEnd().split('\n'))
    run(`${line.replace('$ npx sluice ', '')} --data data`);
});
afterAll(() => rmSync(folder, { recursive: true }));

test('behavior: the SQL of the guide reads the exported files', async () => {
  const [{ text } = { text: '' }] = readCode(page, 'sql');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const query = text.replace("'balances/", `'${folder}/balances/`);
  const rows = (await connection.runAndReadAll(query)).getRowObjectsJson();
  expect(rows.length).toBeGreaterThan(1);
  expect(Object.keys(rows[0] ?? {})).toEqual(['post_mint', 'changes', 'change']);
  const days = `select distinct day from read_parquet('${folder}/transfers/*/*.parquet', hive_partitioning = true)`;
  expect((await connection.runAndReadAll(days)).getRowObjectsJson()).toHaveLength(1);
  connection.closeSync();
});

const hasPolars = spawnSync('python3', ['-c', 'import polars']).status === 0;

test.skipIf(!hasPolars)(
  `behavior: the Python of the guide reads the exported folder${hasPolars ? '' : ' (skipped: polars is not installed)'}`,
  () => {
    const { text = '' } = readCode(page, 'python').find(({ text }) => !text.includes('http')) ?? {};
    const { status, stdout } = spawnSync('python3', ['-c', text], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, expect.stringContaining('post_mint')]);
  },
);

const hasR = spawnSync('Rscript', ['-e', 'library(arrow)']).status === 0;

test.skipIf(!hasR)(
  `behavior: the R of the guide reads the exported files${hasR ? '' : ' (skipped: R with arrow is not installed)'}`,
  () => {
    const [{ text } = { text: '' }] = readCode(page, 'r');
    writeFileSync(join(folder, 'program.R'), text);
    const { status, stdout } = spawnSync('Rscript', ['program.R'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, expect.stringContaining('block_slot')]);
  },
);
