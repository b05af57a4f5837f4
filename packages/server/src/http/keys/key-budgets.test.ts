import { expect, test } from 'vitest';
import { ManualClock } from '../../base/testing/manual-clock.ts';
import { KEY_LIMITS, KeyBudgets } from './key-budgets.ts';

const { signal } = new AbortController();

test('limit: S-03 the streams of a key share its bytes per second, and other keys have their own', async () => {
  const clock = new ManualClock();
  const budgets = new KeyBudgets({ ...KEY_LIMITS, bytesPerSecond: 1_000 }, clock);
  const done: string[] = [];
  const take = (key: string, byteCount: number, name: string) =>
    budgets.takeBytes(key, byteCount, signal).then(() => done.push(name));
  // The bytes of one second pass at once, then each call waits for the earlier ones.
  await take('a', 1_000, 'first');
  const second = take('a', 500, 'second');
  const third = take('a', 1_000, 'third');
  await take('b', 1_000, 'other key');
  clock.advance(499);
  await Promise.resolve();
  expect(done).toEqual(['first', 'other key']);
  clock.advance(1);
  await second;
  clock.advance(1_000);
  await third;
  expect(done).toEqual(['first', 'other key', 'second', 'third']);
});

test('limit: changed limits apply immediately, and a stream that ends stops waiting', async () => {
  const limits = { ...KEY_LIMITS };
  const budgets = new KeyBudgets(limits, new ManualClock());
  await budgets.takeBytes('a', 1e9, signal);
  Object.assign(limits, { bytesPerSecond: 10, streamCountMax: 1 });
  const stop = new AbortController();
  const waiting = budgets.takeBytes('a', 1_000, stop.signal);
  stop.abort();
  await waiting;
  budgets.takeStream('a');
  expect(() => budgets.takeStream('a')).toThrow('streamCountMax 1');
});
