import { systemClock } from '@sluice/base/clock';
import { type Client, SluiceError } from '@sluice/client';
import { expect, test } from 'vitest';
import { PostgresTarget } from './postgres/postgres-target.ts';
import { planTables, repeatStart } from './run-sync.ts';
import { TableSync } from './sync-table.ts';
import { specOfReadyTable, type TableSpec } from './table-spec.ts';
import type { TableStore } from './target.ts';

const lost = new SluiceError('network-failed', { detail: 'http://127.0.0.1:1, ECONNREFUSED' });
const lostClient = {
  metadata: () => Promise.reject(lost),
  finalizedHead: () => Promise.reject(lost),
} as unknown as Client;
const specs = [specOfReadyTable('logs') as TableSpec];

test('error: a service that does not respond fails the start, also if no program is looked up', async () => {
  await expect(planTables(specs, lostClient)).rejects.toBe(lost);
});

test('error: a lost connection to the service is not explained as one to the target', async () => {
  const reachable = { metadata: async () => ({}) } as unknown as Client;
  const [plan] = await planTables(specs, reachable);
  if (plan === undefined) throw new Error('no plan');
  const target = new PostgresTarget('postgres://127.0.0.1/mine', { clock: systemClock });
  const state = { phase: 'load', spans: [], cursor: null, nextBlock: null, fill: null } as const;
  const store = { state, close: async () => undefined } as unknown as TableStore;
  target.openTable = async () => store;
  const stop = new AbortController();
  const failures: unknown[] = [];
  const run = new TableSync(
    {
      ...{ plan, target, client: lostClient, toBlock: undefined },
      ...{ isFinalized: false, isRebuilt: false, workerCount: 1 },
    },
    {
      readColumns: async function* () {},
      clock: systemClock,
      onEvent: (event) => {
        if (event.kind !== 'retry') return;
        failures.push(event.error);
        stop.abort();
      },
      signal: stop.signal,
    },
  ).run();
  await expect(run).rejects.toThrow();
  expect(failures).toEqual([lost]);
});

test('behavior: the start is repeated until it succeeds, and ends when the command is stopped', async () => {
  const stop = new AbortController();
  let count = 0;
  const options = {
    waitMsMax: 5_000,
    isTransient: () => true,
    onFailure: () => stop.abort(),
    clock: systemClock,
    signal: stop.signal,
  };
  const failing = async () => {
    count++;
    throw new Error('not reachable yet');
  };
  await expect(repeatStart(failing, options)).rejects.toThrow('not reachable yet');
  expect(count).toBe(1);
  const once = async () => {
    if (count++ === 1) throw new Error('not reachable yet');
    return 'started';
  };
  const patient = { ...options, signal: new AbortController().signal };
  expect(await repeatStart(once, patient)).toBe('started');
});
