import { CodedError } from '@sluice/base/errors';
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import type { Fs } from '../storage/fs.ts';
import { AlarmBoard } from './alarm-board.ts';
import { FreeSpace } from './free-space.ts';

let clock: ManualClock;
let alarms: AlarmBoard;
let space: { freeBytes: number; totalBytes: number } | Error;
let measuredCount: number;
let unreadable: CodedError[];
let free: FreeSpace;

beforeEach(() => {
  clock = new ManualClock();
  alarms = new AlarmBoard(clock);
  space = { freeBytes: 100, totalBytes: 1_000 };
  measuredCount = 0;
  unreadable = [];
  const fs = {
    space: async () => {
      measuredCount++;
      if (space instanceof Error) throw space;
      return space;
    },
  } as unknown as Fs;
  const limits = { diskFloorBytes: 200, diskFloorShare: 0.1, spaceCheckEveryMs: 1_000 };
  const onUnreadable = (error: CodedError) => unreadable.push(error);
  free = new FreeSpace({ folder: 'data', limits }, { fs, clock, alarms, onUnreadable });
});

test('default: enough space is measured once in an interval, and no call waits for it', async () => {
  expect(free.freeBytes).toBeNull();
  await free.check();
  await free.check();
  clock.advance(999);
  await free.check();
  expect([measuredCount, free.freeBytes, free.shortage]).toEqual([1, 100, undefined]);
  clock.advance(1);
  await free.check();
  expect(measuredCount).toBe(2);
});

test('error: disk-floor-reached below the smaller of bytes and share, until there is space again', async () => {
  space = { freeBytes: 99, totalBytes: 1_000 };
  const shortage = { code: 'disk-floor-reached', detail: { freeBytes: 99, floorBytes: 100 } };
  await expect(free.check()).rejects.toMatchObject(shortage);
  expect(free.shortage).toEqual({ kind: 'disk-floor', freeBytes: 99, floorBytes: 100 });
  expect(alarms.list().map(({ code }) => code)).toEqual(['disk-floor-reached']);
  space = { freeBytes: 200, totalBytes: 1_000_000 };
  await expect(free.check()).rejects.toMatchObject(shortage);
  clock.advance(1_000);
  await free.check();
  expect([free.shortage, alarms.list()]).toEqual([undefined, []]);
  space = { freeBytes: 199, totalBytes: 1_000_000 };
  clock.advance(1_000);
  // The last measurement found enough, so this call does not wait for the next one.
  await free.check();
  await expect(free.check()).rejects.toMatchObject({ detail: { floorBytes: 200 } });
});

test('behavior: calls at the same time wait for one measurement', async () => {
  space = { freeBytes: 1, totalBytes: 1_000 };
  const results = await Promise.allSettled([free.check(), free.check(), free.check()]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(measuredCount).toBe(1);
});

test('behavior: a folder that cannot be read is reported and stops no write; a bug is thrown', async () => {
  space = new CodedError('storage-missing', { path: 'data' });
  await free.check();
  expect([unreadable, free.freeBytes]).toEqual([[space], null]);
  clock.advance(1_000);
  space = new TypeError('a bug');
  await expect(free.check()).rejects.toThrow('a bug');
});
