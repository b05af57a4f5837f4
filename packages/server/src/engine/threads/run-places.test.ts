import { setImmediate as nextTurn } from 'node:timers/promises';
import { isCodedError } from '@sluice/base/errors';
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { RunPlaces } from './run-places.ts';

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

/** The callback of runs that must not be cut. */
function cutNobody(): never {
  expect.unreachable('no run is cut');
}

test('default: runs beyond the limit wait and start in order of arrival', async () => {
  const places = new RunPlaces({ countMax: 1, restMsMax: 60_000 }, clock);
  const first = await places.take(cutNobody);
  const order: string[] = [];
  const second = places.take(cutNobody).then((place) => {
    order.push('second');
    return place;
  });
  const third = places.take(cutNobody).then(() => order.push('third'));
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
  const places = new RunPlaces({ countMax: 2, restMsMax: 20 }, clock);
  const resting = await places.take(() => resting.leave());
  const reading = await places.take(cutNobody);
  resting.rest();
  reading.rest();
  reading.resume();
  const waiting = places.take(cutNobody);
  clock.advance(5);
  await nextTurn();
  clock.advance(15);
  const third = await waiting;
  third.leave();
  reading.leave();
});

test('limit: a reader may be inactive for exactly the time allowed', async () => {
  const places = new RunPlaces({ countMax: 1, restMsMax: 20 }, clock);
  let isCut = false;
  const resting = await places.take(() => {
    isCut = true;
    resting.leave();
  });
  resting.rest();
  const waiting = places.take(cutNobody);
  clock.advance(19);
  await nextTurn();
  expect(isCut).toBe(false);
  clock.advance(5);
  (await waiting).leave();
  expect(isCut).toBe(true);
});

test('behavior: without a waiting run, no run is cut, even if its reader is inactive for long', async () => {
  const places = new RunPlaces({ countMax: 2, restMsMax: 20 }, clock);
  const resting = await places.take(cutNobody);
  resting.rest();
  clock.advance(1_000);
  await nextTurn();
  const second = await places.take(cutNobody);
  second.leave();
  resting.leave();
});

test('behavior: leaving a place twice frees it once', async () => {
  const places = new RunPlaces({ countMax: 1, restMsMax: 60_000 }, clock);
  const first = await places.take(cutNobody);
  first.leave();
  first.leave();
  await places.take(cutNobody);
  const controller = new AbortController();
  const late = places.take(cutNobody, controller.signal);
  controller.abort();
  await expect(late).rejects.toSatisfy((error) => isCodedError(error, 'engine-cancelled'));
});

test('error: engine-cancelled for all waiting runs when the pool closes', async () => {
  const places = new RunPlaces({ countMax: 1, restMsMax: 60_000 }, clock);
  await places.take(cutNobody);
  const waiting = [places.take(cutNobody), places.take(cutNobody)];
  places.close();
  for (const place of waiting)
    await expect(place).rejects.toSatisfy((error) => isCodedError(error, 'engine-cancelled'));
});
