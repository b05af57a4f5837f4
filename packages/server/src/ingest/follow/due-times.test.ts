import { expect, test } from 'vitest';
import { DueTimes } from './followed-source.ts';

function learned(...delaysMs: readonly number[]): DueTimes {
  const due = new DueTimes();
  for (const delayMs of delaysMs) due.learn(delayMs);
  return due;
}

test('default: requests are frequent while a block is expected, and rare before and after', () => {
  const due = learned(60, 190, 100);
  const pauses = [0, 20, 40, 60, 120, 200, 250].map((forMs) => due.pauseMs([forMs]));
  expect(pauses.map(Math.round)).toEqual([48, 28, 15, 15, 15, 15, 50]);
});

test('behavior: without earlier blocks or announcements, requests have a fixed interval', () => {
  expect([new DueTimes().pauseMs([100]), learned(100).pauseMs([])]).toEqual([50, 50]);
});

test('behavior: of several announced blocks, the next expected one counts', () => {
  expect(learned(60, 190).pauseMs([500, 55])).toBe(15);
});

test('behavior: an unusual delay, such as that of a block of history, is ignored', () => {
  const due = learned(100, 60_000, -5);
  expect(due.pauseMs([500])).toBe(50);
  expect(learned(100, -5).pauseMs([20])).toBe(50);
});

test('behavior: a delay that no longer occurs is forgotten', () => {
  const due = learned(20, 1_500, ...Array.from({ length: 400 }, () => 400));
  expect(due.pauseMs([100])).toBe(50);
  expect(due.pauseMs([700])).toBe(50);
  expect(due.pauseMs([400])).toBe(15);
});

test('limit: a delay from 0 to 2 s is learned', () => {
  expect(learned(2_000).pauseMs([2_000])).toBe(15);
  expect(learned(2_001).pauseMs([2_001])).toBe(50);
  expect(learned(0).pauseMs([0])).toBe(15);
  // Requests stay frequent for one interval after the latest block arrived.
  expect([learned(100).pauseMs([115]), learned(100).pauseMs([116])]).toEqual([15, 50]);
});

test('behavior: the range shrinks by a 64th of the distance with each block', () => {
  const due = learned(100, 740, 420);
  // The earliest from 100 to 110 and then to about 115, the latest from 740 to 735.
  expect(due.pauseMs([70])).toBeCloseTo(110 + 310 / 64 - 15 - 70, 6);
  expect([due.pauseMs([750]), due.pauseMs([751])]).toEqual([15, 50]);
});
