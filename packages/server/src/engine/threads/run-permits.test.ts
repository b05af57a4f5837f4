import { setImmediate as nextTurn } from 'node:timers/promises';
import { isCodedError } from '@sluice/base/errors';
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { RunPermits } from './run-permits.ts';

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

/** The callback of runs that must not be cut. */
function cutNobody(): never {
  expect.unreachable('no run is cut');
}

test('default: runs beyond the limit wait and start in order of arrival', async () => {
  const permits = new RunPermits({ countMax: 1, restMsMax: 60_000 }, clock);
  const first = await permits.take(cutNobody);
  const order: string[] = [];
  const second = permits.take(cutNobody).then((permit) => {
    order.push('second');
    return permit;
  });
  const third = permits.take(cutNobody).then(() => order.push('third'));
  first.rest();
  clock.advance(59_999);
  await nextTurn();
  expect(order).toEqual([]);
  first.leave();
  (await second).leave();
  await third;
  expect(order).toEqual(['second', 'third']);
});

test('behavior: a run whose reader is inactive is cut for a waiting one; a run that is being read continues', async () => {
  const permits = new RunPermits({ countMax: 2, restMsMax: 20 }, clock);
  const resting = await permits.take(() => resting.leave());
  const reading = await permits.take(cutNobody);
  resting.rest();
  reading.rest();
  reading.resume();
  const waiting = permits.take(cutNobody);
  clock.advance(5);
  await nextTurn();
  clock.advance(15);
  const third = await waiting;
  third.leave();
  reading.leave();
});

test('limit: a reader may be inactive for exactly the time allowed', async () => {
  const permits = new RunPermits({ countMax: 1, restMsMax: 20 }, clock);
  let isCut = false;
  const resting = await permits.take(() => {
    isCut = true;
    resting.leave();
  });
  resting.rest();
  const waiting = permits.take(cutNobody);
  clock.advance(19);
  await nextTurn();
  expect(isCut).toBe(false);
  clock.advance(5);
  (await waiting).leave();
  expect(isCut).toBe(true);
});

test('behavior: without a waiting run, no run is cut, even if its reader is inactive for long', async () => {
  const permits = new RunPermits({ countMax: 2, restMsMax: 20 }, clock);
  const resting = await permits.take(cutNobody);
  resting.rest();
  clock.advance(1_000);
  await nextTurn();
  const second = await permits.take(cutNobody);
  second.leave();
  resting.leave();
});

test('behavior: a cancelled run gives up its place in the queue', async () => {
  const permits = new RunPermits({ countMax: 1, restMsMax: 60_000 }, clock);
  const first = await permits.take(cutNobody);
  const controller = new AbortController();
  const cancelled = permits.take(cutNobody, controller.signal);
  let isNextStarted = false;
  permits.take(cutNobody).then(() => {
    isNextStarted = true;
  }, cutNobody);
  controller.abort();
  await expect(cancelled).rejects.toSatisfy((error) => isCodedError(error, 'engine-cancelled'));
  first.leave();
  await nextTurn();
  expect(isNextStarted).toBe(true);
});

test('behavior: leaving a permit twice frees it once', async () => {
  const permits = new RunPermits({ countMax: 1, restMsMax: 60_000 }, clock);
  const first = await permits.take(cutNobody);
  first.leave();
  first.leave();
  await permits.take(cutNobody);
  const controller = new AbortController();
  const late = permits.take(cutNobody, controller.signal);
  controller.abort();
  await expect(late).rejects.toSatisfy((error) => isCodedError(error, 'engine-cancelled'));
});

test('error: engine-cancelled for all waiting runs when the pool closes', async () => {
  const permits = new RunPermits({ countMax: 1, restMsMax: 60_000 }, clock);
  await permits.take(cutNobody);
  const waiting = [permits.take(cutNobody), permits.take(cutNobody)];
  permits.close();
  for (const permit of waiting)
    await expect(permit).rejects.toSatisfy((error) => isCodedError(error, 'engine-cancelled'));
});
