import { expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { KEY_LIMITS, KeyBudgets } from './key-budgets.ts';

const { signal } = new AbortController();

test('limit: S-03 the streams of a key share its bytes per second, and other keys have their own', async () => {
  const clock = new ManualClock();
  const budgets = new KeyBudgets({ ...KEY_LIMITS, bytesPerSecond: 1_000 }, clock);
  const done: string[] = [];
  const take = (key: string, byteCount: number, name: string) =>
    Promise.resolve(budgets.takeBytes(key, byteCount, signal)).then(() => done.push(name));
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

test('behavior: bytes that may be sent at once need no promise, so that followers are written to directly', () => {
  const limits = { ...KEY_LIMITS };
  const budgets = new KeyBudgets(limits, new ManualClock());
  expect(budgets.takeBytes('a', 1e9, signal)).toBeUndefined();
  Object.assign(limits, { bytesPerSecond: 1_000 });
  expect(budgets.takeBytes('b', 1_000, signal)).toBeUndefined();
  expect(budgets.takeBytes('b', 1, signal)).toBeInstanceOf(Promise);
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

const codeOf = (act: () => void) => {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
};

test('limit: S-03 a key may send a burst of requests and then its rate', () => {
  const clock = new ManualClock();
  const budgets = new KeyBudgets({ ...KEY_LIMITS, requestsPerSecond: 2, requestBurst: 3 }, clock);
  for (let i = 0; i < 3; i++) budgets.takeRequest('a');
  expect(codeOf(() => budgets.takeRequest('a'))).toMatchObject({
    code: 'key-limit-reached',
    detail: { requestsPerSecond: 2 },
  });
  clock.advance(500);
  budgets.takeRequest('a');
  expect(() => budgets.takeRequest('a')).toThrow();
  budgets.takeRequest('b');
  clock.advance(60_000);
  for (let i = 0; i < 3; i++) budgets.takeRequest('a');
  expect(() => budgets.takeRequest('a')).toThrow();
});

test('limit: S-03 a key may have so many streams, and ending one frees its place', () => {
  const budgets = new KeyBudgets({ ...KEY_LIMITS, streamCountMax: 2 }, new ManualClock());
  const end = budgets.takeStream('a');
  budgets.checkStreams('a');
  budgets.takeStream('a');
  expect(codeOf(() => budgets.checkStreams('a'))).toMatchObject({
    code: 'key-limit-reached',
    detail: { streamCountMax: 2 },
  });
  expect(codeOf(() => budgets.takeStream('a'))).toMatchObject({ code: 'key-limit-reached' });
  budgets.takeStream('b');
  end();
  budgets.takeStream('a');
});

test('behavior: a removed key loses its budget, but not while it has streams', () => {
  const budgets = new KeyBudgets({ ...KEY_LIMITS, requestBurst: 1 }, new ManualClock());
  for (const key of ['a', 'b', 'c']) budgets.takeRequest(key);
  const end = budgets.takeStream('c');
  budgets.keepOnly(new Set(['a']));
  expect(() => budgets.takeRequest('a')).toThrow();
  // Its budget is a new one.
  budgets.takeRequest('b');
  expect(() => budgets.takeRequest('c')).toThrow();
  end();
  budgets.keepOnly(new Set());
  budgets.takeRequest('c');
});
