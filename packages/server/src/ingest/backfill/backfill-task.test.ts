/** The progress that a task reports, with a backfill that the test controls. */

import { CodedError } from '@sluice/base/errors';
import { toSlot } from '@sluice/ledger/primitives';
import { afterEach, expect, test, vi } from 'vitest';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { Backfill } from './backfill.ts';
import {
  type BackfillProgress,
  BackfillTask,
  type BackfillTaskDependencies,
} from './backfill-task.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Starts a backfill down to slot 50 when the clock is at 5 s. */
async function start() {
  const clock = new ManualClock();
  await clock.advance(5_000);
  const alarms = new AlarmBoard(clock);
  const state = { link: (_slot: number) => {}, end: (_error?: Error) => {}, runCount: 0 };
  vi.spyOn(Backfill, 'run').mockImplementation(async (options, { onBlock }) => {
    expect(options).toEqual({ to: 50, storesOnStop: false });
    state.runCount++;
    state.link = (slot) => onBlock?.(toSlot(slot), 1);
    const failure = await new Promise<Error | undefined>((resolve) => {
      state.end = resolve;
    });
    if (failure !== undefined) throw failure;
  });
  const done: BackfillProgress[] = [];
  const dependencies = {
    dataset: { alarms },
    clock,
    onDone: (one: BackfillProgress) => done.push(one),
  };
  const task = new BackfillTask(toSlot(50), dependencies as unknown as BackfillTaskDependencies);
  const stop = new AbortController();
  const running = task.run(stop.signal);
  return { clock, alarms, state, task, done, stop, running };
}

test('default: the speed and the time left follow from the blocks and slots so far', async () => {
  const { clock, state, task, done, running } = await start();
  const base = { to: 50, blocks_per_second: 0, seconds_left: null };
  expect(task.progress).toEqual({ ...base, slot: null, blocks: 0 });
  state.link(90);
  expect(task.progress).toEqual({ ...base, slot: 90, blocks: 1 });
  await clock.advance(2_000);
  state.link(85);
  state.link(81);
  state.link(80);
  // Four blocks and ten slots in two seconds, and thirty slots are left.
  expect(task.progress).toEqual({
    to: 50,
    slot: 80,
    blocks: 4,
    blocks_per_second: 2,
    seconds_left: 6,
  });
  state.link(49);
  expect(task.progress).toMatchObject({ slot: 49, seconds_left: 0 });
  state.end();
  await running;
  expect([task.progress, done]).toMatchObject([null, [{ slot: 49, blocks: 5 }]]);
});

test('behavior: a block that is loaded again is not counted, and does not clear the alarm', async () => {
  const { clock, alarms, state, task, stop, running } = await start();
  state.link(90);
  state.end(new CodedError('backfill-stuck', { slot: 89, fault: 'none' }));
  await clock.advance(59_000);
  expect([alarms.has('backfill-stalled'), state.runCount]).toEqual([true, 1]);
  await clock.advance(1_000);
  state.link(90);
  expect([task.progress?.blocks, alarms.has('backfill-stalled'), state.runCount]).toEqual([
    1,
    true,
    2,
  ]);
  state.link(88);
  expect([task.progress?.blocks, alarms.list()]).toEqual([2, []]);
  stop.abort();
  state.end(new CodedError('backfill-interrupted', { slot: 88 }));
  await running;
  expect(alarms.list()).toEqual([]);
});

test('behavior: a task that is stopped while it waits to retry does not run again', async () => {
  const { clock, state, stop, running } = await start();
  state.end(new CodedError('backfill-stuck', { slot: 89, fault: 'none' }));
  await clock.advance(1_000);
  stop.abort();
  await running;
  expect(state.runCount).toBe(1);
});

test('error: a bug ends the task', async () => {
  const { state, running } = await start();
  state.end(new TypeError('a bug'));
  await expect(running).rejects.toThrow('a bug');
});

test('behavior: the alarm ends with the backfill, even if its last attempt loads no new block', async () => {
  const { clock, alarms, state, running } = await start();
  state.link(49);
  state.end(new CodedError('dataset-write-failed'));
  await clock.advance(1_000);
  expect(alarms.has('backfill-stalled')).toBe(true);
  await clock.advance(59_000);
  state.link(49);
  state.end();
  await running;
  expect(alarms.list()).toEqual([]);
});
