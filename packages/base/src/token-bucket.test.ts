import { expect, test } from 'vitest';
import { ManualClock } from './testing/manual-clock.ts';
import { TokenBucket } from './token-bucket.ts';

const rate = { perSecond: 5, burst: 5 };

test('limit: a bucket lets a burst through, then one call at a time', async () => {
  const clock = new ManualClock();
  const bucket = new TokenBucket(rate.burst, clock);
  const { signal } = new AbortController();
  let passed = 0;
  const all = Array.from({ length: 8 }, () =>
    Promise.resolve(bucket.take(1, rate, signal)).then(() => passed++),
  );
  await Promise.resolve();
  await Promise.resolve();
  expect(passed).toBe(5);
  clock.advance(200);
  await all[5];
  expect(passed).toBe(6);
  clock.advance(400);
  await Promise.all(all);
});

test('limit: an empty bucket gives no token until enough time has passed', () => {
  const clock = new ManualClock();
  const bucket = new TokenBucket(1, clock);
  expect(bucket.tryTake(rate)).toBe(true);
  expect(bucket.tryTake(rate)).toBe(false);
  clock.advance(199);
  expect(bucket.tryTake(rate)).toBe(false);
  clock.advance(1);
  expect(bucket.tryTake(rate)).toBe(true);
});

test('limit: a pause gives no more tokens than the burst', () => {
  const clock = new ManualClock();
  const bucket = new TokenBucket(0, clock);
  clock.advance(10_000);
  const taken = Array.from({ length: 8 }, () => bucket.tryTake(rate));
  expect(taken.filter(Boolean)).toHaveLength(5);
});
