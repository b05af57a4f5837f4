import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { logProgress } from './log-progress.ts';

let clock: ManualClock;
let logged: Record<string, unknown>[];
let stop: AbortController;
let status: {
  behindSlots: number | null;
  counters: Record<string, number>;
  backfill: null;
  sources: IngestStatus['sources'];
} | null;
let dataset: MemoryDataset;
let running: Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  logged = [];
  stop = new AbortController();
  dataset = new MemoryDataset();
  dataset.extend([0, 1]);
  status = { behindSlots: 0, counters: {}, backfill: null, sources: [] };
  const log = pino(
    { base: null, timestamp: false },
    { write: (line) => logged.push(JSON.parse(line)) },
  );
  running = logProgress([{ reader: dataset, ingest: () => status }], {
    log,
    clock,
    signal: stop.signal,
  });
});
afterEach(async () => {
  stop.abort();
  await running;
});

/** Advances second by second, the interval of the loop. */
async function pass(seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    clock.advance(1_000);
    await new Promise(setImmediate);
  }
}

test('behavior: a dataset without a block is logged once a minute, with the reason', async () => {
  stop.abort();
  await running;
  const empty = new MemoryDataset({ isStarted: false });
  const alarm = { code: 'source-start-missing' as const, message: 'start later', sinceUnixMs: 0 };
  const state = empty.status();
  empty.status = () => ({ ...state, alarms: [alarm] });
  stop = new AbortController();
  const log = pino(
    { base: null, timestamp: false },
    { write: (line) => logged.push(JSON.parse(line)) },
  );
  running = logProgress([{ reader: empty, ingest: () => status }], {
    log,
    clock,
    signal: stop.signal,
  });
  await pass(121);
  const stuck = logged.filter(({ msg }) => msg === 'no block yet');
  expect(stuck).toEqual(
    [1, 2].map(() => ({
      level: 40,
      dataset: 'ledger-test',
      reason: 'start later',
      msg: 'no block yet',
    })),
  );
});

test('default: a dataset at the head is logged once a minute', async () => {
  await pass(59);
  expect(logged).toEqual([]);
  await pass(62);
  expect(logged).toEqual(
    [1, 2].map(() => ({ level: 30, dataset: 'ledger-test', head: 1, msg: 'following' })),
  );
});

test('behavior: a dataset without sources is not logged', async () => {
  status = null;
  await pass(200);
  expect(logged).toEqual([]);
});

test('behavior: a dataset far behind is logged with the number of blocks, the rate and the remaining time', async () => {
  status = { behindSlots: 2_000, counters: { blocks: 90 }, backfill: null, sources: [] };
  dataset.extend([40, 101]);
  await pass(10);
  expect(logged).toEqual([
    {
      level: 30,
      dataset: 'ledger-test',
      head: 101,
      blocks: 90,
      blocksPerSecond: 9,
      behindSlots: 2_000,
      secondsLeft: 200,
      msg: 'catching up',
    },
  ]);
  // Sources that deliver nothing do not cause a line every ten seconds.
  await pass(30);
  expect(logged).toHaveLength(1);
});

test('behavior: a failing source is logged once, and once again when it recovers', async () => {
  const source = {
    ...{ name: 'rpc-1', failures: 0, strikes: 0 },
    ...{ kind: 'rpc' as const, slotsBehind: 0, activity: null },
  };
  const well = { behindSlots: 0, counters: {}, backfill: null };
  const waiting = { ...source, state: 'waiting' as const, fault: 'ECONNREFUSED' };
  status = { ...well, sources: [waiting] };
  await pass(4);
  expect(logged).toEqual([]);
  await pass(20);
  expect(logged).toMatchObject([{ level: 40, source: 'rpc-1', fault: 'ECONNREFUSED' }]);
  // No source works, so the line once a minute is a warning.
  await pass(40);
  expect(logged.splice(1)).toMatchObject([{ level: 40, msg: 'all sources fail' }]);
  status = { ...well, sources: [{ ...source, state: 'live', fault: null }] };
  await pass(5);
  expect(logged.slice(1)).toMatchObject([{ source: 'rpc-1', msg: 'the source is back' }]);
});
