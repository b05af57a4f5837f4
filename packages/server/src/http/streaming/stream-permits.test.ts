import { expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { ByteMeter } from '../byte-meter.ts';
import type { ApiKey } from '../keys/api-keys.ts';
import { KEY_LIMITS, KeyBudgets } from '../keys/key-budgets.ts';
import { StreamPermits } from './stream-permits.ts';

const alice: ApiKey = { name: 'alice', hash: Buffer.alloc(32, 1) };
const bob: ApiKey = { name: 'bob', hash: Buffer.alloc(32, 2) };

function start(streamCountMax = 2, keyLimits = {}) {
  const clock = new ManualClock();
  const unsent = new ByteMeter(() => 10);
  const budgets = new KeyBudgets({ ...KEY_LIMITS, ...keyLimits }, clock);
  const limits = { streamCountMax };
  return { clock, unsent, limits, permits: new StreamPermits(limits, { budgets, unsent }) };
}

const refusedWith = (code: string) => expect.objectContaining({ code });

test('limit: streams-full at the limit, until one leaves; leaving twice frees one permit', () => {
  const { permits } = start();
  const first = permits.take(null);
  const second = permits.take(null);
  expect(permits.count).toBe(2);
  expect(() => permits.take(null)).toThrow(refusedWith('streams-full'));
  expect(first.signal.aborted).toBe(false);
  first.leave();
  first.leave();
  expect([permits.count, first.signal.aborted, second.signal.aborted]).toEqual([1, true, false]);
  permits.take(null);
});

test('limit: readers-too-slow while too many bytes wait', () => {
  const { permits, unsent } = start();
  unsent.add(10);
  expect(() => permits.take(null)).toThrow(refusedWith('readers-too-slow'));
  expect(permits.count).toBe(0);
  unsent.remove(1);
  permits.take(null);
});

test('limit: a stream counts against its key and gives its permit back once', () => {
  const { permits } = start(9, { streamCountMax: 2 });
  const first = permits.take(alice);
  permits.take(alice);
  expect(() => permits.take(alice)).toThrow(refusedWith('key-limit-reached'));
  // A refused stream holds no permit.
  expect(permits.count).toBe(2);
  permits.take(bob);
  first.leave();
  first.leave();
  permits.take(alice);
  expect(() => permits.take(alice)).toThrow(refusedWith('key-limit-reached'));
});

test('limit: the bytes of a key are paced, those without a key are not', async () => {
  const { permits, clock } = start(9, { bytesPerSecond: 100 });
  expect(permits.take(null).pace(1e9)).toBe(undefined);
  const permit = permits.take(alice);
  await permit.pace(100);
  let isSent = false;
  const paced = permit.pace(100)?.then(() => {
    isSent = true;
  });
  expect(paced).toBeInstanceOf(Promise);
  clock.advance(999);
  await Promise.resolve();
  expect(isSent).toBe(false);
  clock.advance(1);
  await paced;
  const waiting = permit.pace(1e9);
  permit.leave();
  await waiting;
});

test('behavior: the streams of a removed key end, and keep their permits until they leave', () => {
  const { permits } = start(9);
  const [kept, ended, open] = [permits.take(alice), permits.take(bob), permits.take(null)];
  permits.endUnless((key) => key === alice);
  expect([kept, ended, open].map(({ signal }) => signal.aborted)).toEqual([false, true, true]);
  expect(permits.count).toBe(3);
});

test('error: service-closing after the end, which ends all streams', () => {
  const { permits } = start(1);
  const permit = permits.take(alice);
  permits.close();
  expect(permit.signal.aborted).toBe(true);
  // It comes before the limits.
  expect(() => permits.take(null)).toThrow(refusedWith('service-closing'));
});
