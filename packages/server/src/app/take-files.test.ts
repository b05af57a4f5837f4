import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { simulatedLines } from '@sluice/simulator/simulated-lines';
import { createSimulatedLedger } from '@sluice/simulator/start-simulated-node';
import { pino } from 'pino';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { Dataset } from '../dataset/dataset.ts';
import { createDataset } from '../dataset/stored/create-dataset.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { takeFiles } from './take-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-take-'));
const paths = ['first.jsonl', 'second.jsonl'].map((name) => join(folder, name));
const ledger = createSimulatedLedger(
  { paused: true, chain: { startSlot: 100 }, content: { transactionsPerBlock: 1 } },
  { clock: systemClock },
);
const lines = [...simulatedLines(ledger, { firstSlot: 0, blockCount: 40 })];
const slotOf = (line: Uint8Array | undefined) =>
  (JSON.parse(Buffer.from(line ?? []).toString()) as { slot: number }).slot;

let fs: SimFs;
let dataset: Dataset;
/** The waits, with the alarms that were active at the time. */
let waits: { readonly ms: number; readonly alarms: readonly string[] }[];
beforeEach(async () => {
  for (const path of paths) rmSync(path, { force: true });
  writeFileSync(paths[0] as string, Buffer.concat(lines.slice(0, 20)));
  writeFileSync(paths[1] as string, Buffer.concat(lines.slice(20)));
  rmSync(join(folder, 'files-read.json'), { force: true });
  fs = new SimFs();
  waits = [];
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true };
  const content = { aliases: [], genesisHash: null, metaOptional: false, allowMissing: [] };
  await createDataset('data/mine', { name: 'mine', votes: 'drop', ...content }, dependencies);
  dataset = await Dataset.open({ folder: 'data/mine', realTime: true }, dependencies);
});
afterEach(() => dataset.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Imports both files, with other sources configured. The callbacks run after the first file and after each wait. */
async function take(events: { onFirst?: () => void; onWait?: (count: number) => void }) {
  const onLine = (line: string) => {
    if (line.includes('first.jsonl') && line.includes('is read')) events.onFirst?.();
  };
  const clock = {
    ...systemClock,
    sleep: async (ms: number) => {
      waits.push({ ms, alarms: dataset.alarms.list().map(({ code }) => code) });
      expect(waits.length).toBeLessThan(20);
      events.onWait?.(waits.length);
    },
  };
  const dependencies = { clock, log: pino({}, { write: onLine }) };
  const options = { folder, paths, hasOtherSources: true };
  await takeFiles(dataset, options, dependencies, new AbortController().signal);
}

test.each([
  ['ENOSPC', /./, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]],
  // After a failed write the journal is read before it is written again.
  ['EIO', /journal/, [1_000, 2_000]],
] as const)(
  'behavior: a disk that fails for a while (%s, %s) is retried with growing waits and an active alarm',
  async (errno, place, expected) => {
    await take({
      onFirst: () => {
        fs.fault = ({ name, path }) =>
          /write|sync/.test(name) && place.test(path) ? errno : undefined;
      },
      onWait: (count) => {
        if (count === expected.length) fs.fault = () => undefined;
      },
    });
    expect(waits.map(({ ms }) => ms)).toEqual(expected);
    for (const { alarms } of waits) expect(alarms).toContain('files-unread');
    expect(dataset.alarms.list()).toEqual([]);
    expect(dataset.snapshot().head?.number).toBe(slotOf(lines.at(-1)));
  },
);

// Linux only: the file /proc/self/mem exists, and its first page cannot be read.
test.skipIf(process.platform !== 'linux')(
  'behavior: a file that cannot be read for a while is retried too',
  async () => {
    const second = paths[1] as string;
    rmSync(second);
    symlinkSync('/proc/self/mem', second);
    await take({
      onWait: () => {
        rmSync(second);
        writeFileSync(second, Buffer.concat(lines.slice(20)));
      },
    });
    expect(waits).toEqual([{ ms: 1_000, alarms: ['files-unread'] }]);
    expect(dataset.alarms.list()).toEqual([]);
    expect(dataset.snapshot().head?.number).toBe(slotOf(lines.at(-1)));
  },
);

test('behavior: an invalid file is left to other sources, and its alarm stays active', async () => {
  writeFileSync(paths[1] as string, Buffer.concat([...lines.slice(20, 25), ...lines.slice(30)]));
  await take({});
  expect(waits).toEqual([]);
  expect(dataset.alarms.list().map(({ code }) => code)).toEqual(['files-unread']);
  // S-15: alarms are public, so the message names the file without its folder.
  expect(dataset.alarms.list()[0]?.message).toMatch(/path (first|second)\.jsonl/);
  expect(dataset.alarms.list()[0]?.message).not.toContain(folder);
  expect(dataset.snapshot().head?.number).toBe(slotOf(lines[24]));
});
