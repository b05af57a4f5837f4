import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodedError } from '@sluice/base/errors';
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { emptySnapshot } from '../chain/chain-snapshot.ts';
import { AlarmBoard } from './alarm-board.ts';
import type { Dataset } from './dataset.ts';
import { maintainDataset } from './maintain-dataset.ts';

let clock: ManualClock;
let alarms: AlarmBoard;
let calls: string[];
let sealCount: number;
/** Whether the dataset changes before every run. */
let changes: boolean;
let trimCount: number;
let isCollected: boolean;
let fault: Error | undefined;
let stop: AbortController;

beforeEach(() => {
  clock = new ManualClock();
  alarms = new AlarmBoard(clock);
  calls = [];
  sealCount = 0;
  changes = true;
  trimCount = 0;
  isCollected = true;
  fault = undefined;
  stop = new AbortController();
});

const retention = { kind: 'blocks', count: 5 } as const;

function maintain(): Promise<void> {
  let version = 0;
  const dataset = {
    alarms,
    changed: async (since: number) => {
      calls.push(`changed ${since}`);
      if (since >= version && !changes) return new Promise(() => undefined);
      return { ...emptySnapshot, version: changes ? ++version : version };
    },
    seal: async () => {
      calls.push('seal');
      if (fault !== undefined) throw fault;
      return sealCount-- > 0;
    },
    trim: async (wanted: unknown) => {
      calls.push('trim');
      expect(wanted).toBe(retention);
      return trimCount-- > 0;
    },
    collect: async () => {
      calls.push('collect');
      return isCollected;
    },
  } as unknown as Dataset;
  return maintainDataset(dataset, { retention, clock }, stop.signal);
}

async function end(running: Promise<void>): Promise<void> {
  stop.abort();
  await running;
}

test('default: everything is trimmed, then sealed; files are removed only after a change', async () => {
  const running = maintain();
  await nextTurn();
  expect(calls).toEqual(['changed -1', 'trim', 'seal']);
  sealCount = 2;
  calls = [];
  clock.advance(1_999);
  await nextTurn();
  expect(calls).toEqual([]);
  clock.advance(1);
  await nextTurn();
  const sealed = ['seal', 'collect', 'trim'];
  expect(calls).toEqual(['changed 1', 'trim', ...sealed, ...sealed, 'seal']);
  [sealCount, trimCount, calls] = [0, 2, []];
  clock.advance(2_000);
  await nextTurn();
  const trimmed = ['trim', 'collect', 'trim', 'collect', 'trim'];
  expect(calls).toEqual(['changed 2', ...trimmed, 'seal']);
  await end(running);
});

test('behavior: a failure raises an alarm and is tried again, which clears it', async () => {
  fault = new CodedError('storage-full', { path: 'x' });
  const running = maintain();
  await nextTurn();
  expect(alarms.list().map(({ code }) => code)).toEqual(['dataset-maintenance-failed']);
  fault = undefined;
  clock.advance(2_000);
  await nextTurn();
  expect(alarms.list()).toEqual([]);
  await end(running);
});

test('behavior: a run that failed, or left files, is repeated although the dataset does not change', async () => {
  fault = new CodedError('storage-full', { path: 'x' });
  void maintain();
  await nextTurn();
  [changes, fault, isCollected, calls] = [false, undefined, false, []];
  clock.advance(2_000);
  await nextTurn();
  expect(calls).toEqual(['changed -1', 'trim', 'collect', 'seal']);
  [isCollected, calls] = [true, []];
  clock.advance(2_000);
  await nextTurn();
  expect(calls).toEqual(['changed -1', 'trim', 'collect', 'seal']);
  calls = [];
  clock.advance(2_000);
  await nextTurn();
  expect(calls).toEqual(['changed 1']);
});

test('behavior: a bug ends the maintenance', async () => {
  fault = new TypeError('a bug');
  await expect(maintain()).rejects.toThrow('a bug');
});

test('behavior: an abort while waiting or sealing ends it before the next step', async () => {
  stop.abort();
  await maintain();
  expect(calls).toEqual([]);
  stop = new AbortController();
  fault = undefined;
  sealCount = 9;
  const running = maintain();
  stop.abort();
  await running;
  expect(calls).toEqual(['changed -1']);
});
