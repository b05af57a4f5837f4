import { expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { ByteMeter } from '../byte-meter.ts';
import type { ApiKey } from '../keys/api-keys.ts';
import { KEY_LIMITS, KeyBudgets } from '../keys/key-budgets.ts';
import { StreamPlaces } from './stream-places.ts';

const alice: ApiKey = { name: 'alice', hash: Buffer.alloc(32, 1) };
const bob: ApiKey = { name: 'bob', hash: Buffer.alloc(32, 2) };

function start(streamCountMax = 2, keyLimits = {}) {
  const clock = new ManualClock();
  const unsent = new ByteMeter(() => 10);
  const budgets = new KeyBudgets({ ...KEY_LIMITS, ...keyLimits }, clock);
  const limits = { streamCountMax };
  return { clock, unsent, limits, places: new StreamPlaces(limits, { budgets, unsent }) };
}

const refusedWith = (code: string) => expect.objectContaining({ code });

test('limit: streams-full at the limit, until one leaves; leaving twice frees one place', () => {
  const { places } = start();
  const first = places.take(null);
  const second = places.take(null);
  expect(places.count).toBe(2);
  expect(() => places.take(null)).toThrow(refusedWith('streams-full'));
  expect(first.signal.aborted).toBe(false);
  first.leave();
  first.leave();
  expect([places.count, first.signal.aborted, second.signal.aborted]).toEqual([1, true, false]);
  places.take(null);
});

test('limit: readers-too-slow while too many bytes wait', () => {
  const { places, unsent } = start();
  unsent.add(10);
  expect(() => places.take(null)).toThrow(refusedWith('readers-too-slow'));
  expect(places.count).toBe(0);
  unsent.remove(1);
  places.take(null);
});

test('limit: a stream counts against its key and gives its place back once', () => {
  const { places } = start(9, { streamCountMax: 2 });
  const first = places.take(alice);
  places.take(alice);
  expect(() => places.take(alice)).toThrow(refusedWith('key-limit-reached'));
  // A refused stream holds no place.
  expect(places.count).toBe(2);
  places.take(bob);
  first.leave();
  first.leave();
  places.take(alice);
  expect(() => places.take(alice)).toThrow(refusedWith('key-limit-reached'));
});

test('limit: the bytes of a key are paced, those without a key are not', async () => {
  const { places, clock } = start(9, { bytesPerSecond: 100 });
  expect(places.take(null).pace(1e9)).toBe(undefined);
  const place = places.take(alice);
  await place.pace(100);
  let isSent = false;
  const paced = place.pace(100)?.then(() => {
    isSent = true;
  });
  expect(paced).toBeInstanceOf(Promise);
  clock.advance(999);
  await Promise.resolve();
  expect(isSent).toBe(false);
  clock.advance(1);
  await paced;
  const waiting = place.pace(1e9);
  place.leave();
  await waiting;
});

test('behavior: the streams of a removed key end, and keep their places until they leave', () => {
  const { places } = start(9);
  const [kept, ended, open] = [places.take(alice), places.take(bob), places.take(null)];
  places.endUnless((key) => key === alice);
  expect([kept, ended, open].map(({ signal }) => signal.aborted)).toEqual([false, true, true]);
  expect(places.count).toBe(3);
});

test('error: service-closing after the end, which ends all streams', () => {
  const { places } = start(1);
  const place = places.take(alice);
  places.close();
  expect(place.signal.aborted).toBe(true);
  // It comes before the limits.
  expect(() => places.take(null)).toThrow(refusedWith('service-closing'));
});
