import type { Clock } from '@sluice/base/clock';
import { expect, test } from 'vitest';
import { SimulatedTime } from './simulated-time.ts';

/** A clock that does not advance. Its sleeps are recorded and end only when their signal aborts. */
function createClock() {
  const sleeps: number[] = [];
  const clock: Clock & { atMs: number } = {
    atMs: 1_000,
    nowMs: () => clock.atMs,
    unixMs: () => clock.atMs,
    sleep: (ms: number, signal?: AbortSignal) => {
      sleeps.push(ms);
      return new Promise<void>((resolve) => {
        if (signal?.aborted) resolve();
        signal?.addEventListener('abort', () => resolve());
      });
    },
  };
  return { clock, sleeps };
}

test('default: time runs at its speed from its start', () => {
  const { clock } = createClock();
  const time = new SimulatedTime({ startMs: 50, speed: 3, paused: false }, { clock });
  expect(time.nowMs()).toBe(50);
  clock.atMs += 10;
  expect(time.nowMs()).toBe(80);
});

test('behavior: time can be paused, advanced and resumed, and a pause does not count', () => {
  const { clock } = createClock();
  const time = new SimulatedTime({ startMs: 0, speed: 1, paused: false }, { clock });
  clock.atMs += 5;
  time.pause();
  clock.atMs += 100;
  expect([time.nowMs(), time.paused]).toEqual([5, true]);
  time.advance(40);
  expect(time.nowMs()).toBe(45);
  time.resume();
  clock.atMs += 1;
  expect([time.nowMs(), time.paused]).toEqual([46, false]);
});

test('behavior: a wait takes as long as the speed requires, and ends when time is advanced', async () => {
  const { clock, sleeps } = createClock();
  const time = new SimulatedTime({ startMs: 0, speed: 4, paused: false }, { clock });
  const never = new AbortController().signal;
  const waiting = time.waitUntil(1_000, never);
  expect(sleeps).toEqual([250]);
  time.advance(1);
  await waiting;
  const paused = time.waitUntil(2_000, never);
  time.pause();
  await paused;
});

test('behavior: an abort ends a wait, also before it has started', async () => {
  const { clock } = createClock();
  const time = new SimulatedTime({ startMs: 0, speed: 1, paused: true }, { clock });
  const stop = new AbortController();
  const waiting = time.waitUntil(10, stop.signal);
  stop.abort();
  await waiting;
  await time.waitUntil(10, stop.signal);
});
