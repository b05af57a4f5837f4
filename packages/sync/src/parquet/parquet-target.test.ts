import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { planTable } from '../table-plan.ts';
import { specOfReadyTable, type TableSpec } from '../table-spec.ts';
import { ParquetTarget } from './parquet-target.ts';

let folder: string;
const table = () => join(folder, 'rewards');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-parquet-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function open(): Promise<void> {
  const plan = await planTable(specOfReadyTable('rewards') as TableSpec, async () => null);
  const target = new ParquetTarget(folder, { clock: systemClock });
  await target.check();
  const store = await target.openTable(plan, { isRebuilt: false });
  await store.close();
}

test('behavior: files that a killed process left are removed, and those of the user stay', async () => {
  await open();
  const left = ['000000000001-000000000002.parquet', '000000000003-000000000004.parquet.tmp'];
  for (const name of [...left, 'notes.txt']) writeFileSync(join(table(), name), '');
  mkdirSync(join(table(), 'own'));
  await open();
  expect(readdirSync(table()).sort()).toEqual(['notes.txt', 'own']);
});

test('behavior: a table whose first state was not complete is opened again', async () => {
  mkdirSync(table());
  writeFileSync(`${table()}.state.json.tmp`, '{"gen');
  await open();
  expect(readdirSync(folder).sort()).toEqual(['rewards', 'rewards.state.json']);
  expect(readdirSync(table())).toEqual([]);
});

test('error: sync-table-foreign for a folder with other files, which stay', async () => {
  mkdirSync(table());
  writeFileSync(join(table(), 'mine.parquet'), '');
  await expect(open()).rejects.toMatchObject({ code: 'sync-table-foreign' });
  expect(readdirSync(table())).toEqual(['mine.parquet']);
});

test('error: sync-target-failed for a damaged state names the file', async () => {
  mkdirSync(table());
  writeFileSync(`${table()}.state.json`, '{');
  const failed = { code: 'sync-target-failed', detail: { target: `${table()}.state.json` } };
  await expect(open()).rejects.toMatchObject(failed);
});
