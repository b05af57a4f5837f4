import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { isCodedError } from '../../base/errors.ts';
import { RunPlaces } from './run-places.ts';

/** The callback of runs that must not be cut. */
function cutNobody(): never {
  expect.unreachable('no run is cut');
}

test('default: runs beyond the limit wait and start in order of arrival', async () => {
  const places = new RunPlaces({ countMax: 1, restMsMax: 60_000 });
  const first = await places.take(cutNobody);
  const order: string[] = [];
  const second = places.take(cutNobody).then((place) => {
    order.push('second');
    return place;
  });
  const third = places.take(cutNobody).then(() => order.push('third'));
  first.rest();
  await sleep(5);
  expect(order).toEqual([]);
  first.leave();
  (await second).leave();
  await third;
  expect(order).toEqual(['second', 'third']);
});

test('behavior: a run whose reader is inactive is cut for a waiting one; a run that is being read continues', async () => {
  const places = new RunPlaces({ countMax: 2, restMsMax: 20 });
  const resting = await places.take(() => resting.leave());
  const reading = await places.take(cutNobody);
  resting.rest();
  reading.rest();
  reading.resume();
  const third = await places.take(cutNobody);
  third.leave();
  reading.leave();
});

test('behavior: without a waiting run, no run is cut, even if its reader is inactive for long', async () => {
  const places = new RunPlaces({ countMax: 2, restMsMax: 1 });
  const resting = await places.take(cutNobody);
  resting.rest();
  await sleep(10);
  const second = await places.take(cutNobody);
  second.leave();
  resting.leave();
});

test('behavior: leaving a place twice frees it once', async () => {
  const places = new RunPlaces({ countMax: 1, restMsMax: 60_000 });
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
  const places = new RunPlaces({ countMax: 1, restMsMax: 60_000 });
  await places.take(cutNobody);
  const waiting = [places.take(cutNobody), places.take(cutNobody)];
  places.close();
  for (const place of waiting)
    await expect(place).rejects.toSatisfy((error) => isCodedError(error, 'engine-cancelled'));
});
