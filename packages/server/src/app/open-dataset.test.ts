import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import { hash, makeRun, slot } from '../chain/testing/chain-fixtures.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { nodeFs } from '../storage/node-fs.ts';
import type { WriterLock } from '../storage/writer-lock.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { openOrCreateDataset, openPlanned } from './open-dataset.ts';

const name = 'mine';
let data: string;
let lock: WriterLock;

beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'sluice-open-dataset-'));
  lock = await lockDataFolder(data);
});
afterEach(async () => {
  await lock.release();
  rmSync(data, { recursive: true });
});

/** Stores two blocks, each in a record of its own. Returns the path of the journal file. */
async function makeDataset(): Promise<string> {
  const folder = join(data, name);
  const dependencies = { fs: nodeFs, clock: systemClock, lock };
  const dataset = await openOrCreateDataset({ folder, name, realTime: true }, dependencies);
  await dataset.commit([{ kind: 'create', anchor: { number: slot(9), hash: hash('a9') } }]);
  for (const block of makeRun('a', [10, 11], { number: 9, hash: 'a9', height: 100 }))
    await extend(dataset, block);
  await dataset.close();
  return join(folder, 'journal', readdirSync(join(folder, 'journal')).at(-1) as string);
}

async function extend(dataset: Dataset, { header }: HotBlock): Promise<void> {
  await dataset.commit([{ kind: 'extend', blocks: [{ header, bytes: new Uint8Array(40) }] }]);
}

/** Opens the dataset as the service does. Returns its head and what was logged. */
async function open() {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null, timestamp: false },
    { write: (line) => lines.push(JSON.parse(line)) },
  );
  const planned = {
    names: { name, aliases: [], dialects: ['ledger'] as const },
    folder: join(data, name),
    config: null,
  };
  const dataset = await openPlanned(planned, { fs: nodeFs, clock: systemClock, lock, log });
  const head = dataset.snapshot().head?.number;
  await dataset.close();
  return { head, lines };
}

test('behavior: a start that discards the end of the journal logs how much, and the head that is left', async () => {
  const journal = await makeDataset();
  expect(await open()).toEqual({ head: 11, lines: [] });
  const { size } = statSync(journal);
  truncateSync(journal, size - 1);
  const { head, lines } = await open();
  expect(head).toBe(10);
  const discardedBytes = size - 1 - statSync(journal).size;
  expect(discardedBytes).toBeGreaterThan(40);
  expect(lines).toEqual([
    expect.objectContaining({ level: 40, dataset: name, discardedBytes, head: 10 }),
  ]);
  expect(await open()).toEqual({ head: 10, lines: [] });
});
