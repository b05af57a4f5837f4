import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { emptySnapshot } from '../chain/chain-snapshot.ts';
import { makeRun } from '../chain/testing/chain-fixtures.ts';
import { ChangeWaiters } from './change-waiters.ts';
import { SnapshotLeases } from './snapshot-leases.ts';

function wait(waiters: ChangeWaiters, sinceVersion: number, stop = new AbortController()) {
  const waiting = { isOver: false, stop };
  void waiters.wait(sinceVersion, stop.signal).then(() => {
    waiting.isOver = true;
  });
  return waiting;
}

test('default: a wait ends with a version above the one it knows', async () => {
  const waiters = new ChangeWaiters(10);
  const [old, current] = [wait(waiters, 0), wait(waiters, 1)];
  waiters.notify(1);
  await nextTurn();
  expect([old.isOver, current.isOver]).toEqual([true, false]);
  waiters.notify(2);
  await nextTurn();
  expect(current.isOver).toBe(true);
  const known = wait(waiters, 1);
  await nextTurn();
  expect(known.isOver).toBe(true);
});

test('behavior: an abort and a close end a wait, and later ones at once', async () => {
  const waiters = new ChangeWaiters(10);
  const [first, second] = [wait(waiters, 0), wait(waiters, 0)];
  first.stop.abort();
  await nextTurn();
  expect([first.isOver, second.isOver]).toEqual([true, false]);
  const again = wait(waiters, 0, first.stop);
  await nextTurn();
  expect(again.isOver).toBe(true);
  waiters.close();
  await nextTurn();
  expect(second.isOver).toBe(true);
  const late = wait(waiters, 9);
  await nextTurn();
  expect(late.isOver).toBe(true);
});

test('limit: waiters-full beyond the count, until one leaves', async () => {
  const waiters = new ChangeWaiters(2);
  const first = wait(waiters, 0);
  wait(waiters, 0);
  const third = () => waiters.wait(0, new AbortController().signal);
  expect(third).toThrow(expect.objectContaining({ code: 'waiters-full' }));
  first.stop.abort();
  expect(third).not.toThrow();
});

test('limit: 64 waiters are woken in a turn, and those that come meanwhile are not forgotten', async () => {
  const waiters = new ChangeWaiters(1_000);
  const future = wait(waiters, 9);
  const all = Array.from({ length: 130 }, () => wait(waiters, 0));
  const count = () => all.filter(({ isOver }) => isOver).length;
  waiters.notify(1);
  // A second change while the first wakes starts nothing twice.
  const late = wait(waiters, 1);
  waiters.notify(2);
  await Promise.resolve();
  await Promise.resolve();
  expect(count()).toBe(63);
  for (let turn = 0; turn < 6; turn++) await nextTurn();
  expect([count(), late.isOver, future.isOver]).toEqual([130, true, false]);
});

test('behavior: a wait that is over no longer listens to its signal', async () => {
  const waiters = new ChangeWaiters(10);
  const [old, current] = [wait(waiters, 0), wait(waiters, 1)];
  waiters.notify(1);
  await nextTurn();
  expect([old, current].map(({ stop }) => getEventListeners(stop.signal, 'abort').length)).toEqual([
    0, 1,
  ]);
});

test('behavior: leases count the readers of each snapshot and the time of the oldest', () => {
  const clock = new ManualClock();
  const leases = new SnapshotLeases(clock);
  const one = { ...emptySnapshot, hot: makeRun('a', [3, 4], null) };
  const two = { ...emptySnapshot, hot: makeRun('a', [4, 5], null) };
  expect([leases.count, leases.oldestMs, [...leases.payloads()]]).toEqual([0, 0, []]);
  const first = leases.acquire(one);
  clock.advance(100);
  const second = leases.acquire(one);
  const third = leases.acquire(two);
  clock.advance(10);
  expect([leases.count, leases.oldestMs]).toEqual([2, 110]);
  expect([...leases.payloads()]).toEqual([3, 4, 5]);
  first.release();
  first.release();
  expect(leases.snapshots()).toEqual([one, two]);
  second.release();
  expect([leases.count, leases.oldestMs, leases.snapshots()]).toEqual([1, 10, [two]]);
  expect(third.snapshot).toBe(two);
  third.release();
  expect(leases.count).toBe(0);
});
