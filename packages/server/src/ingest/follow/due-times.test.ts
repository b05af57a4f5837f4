import { expect, test } from 'vitest';
import { DueTimes } from './due-times.ts';

function learned(...delaysMs: readonly number[]): DueTimes {
  const due = new DueTimes();
  for (const delayMs of delaysMs) due.learn(delayMs);
  return due;
}

test('default: asked often while a block may come, seldom before and after', () => {
  const due = learned(60, 190, 100);
  const pauses = [0, 20, 40, 60, 120, 200, 250].map((forMs) => due.pauseMs([forMs]));
  expect(pauses.map(Math.round)).toEqual([48, 28, 15, 15, 15, 15, 50]);
});

test('behavior: before anything came, and with nothing announced, it is asked at the steady beat', () => {
  expect([new DueTimes().pauseMs([100]), learned(100).pauseMs([])]).toEqual([50, 50]);
});

test('behavior: of several announced blocks the next that may come counts', () => {
  expect(learned(60, 190).pauseMs([500, 55])).toBe(15);
});

test('behavior: what is far outside, as a block of history, is not learned from', () => {
  const due = learned(100, 60_000, -5);
  expect(due.pauseMs([500])).toBe(50);
});

test('behavior: a span that no block uses any more is forgotten', () => {
  const due = learned(20, 1_500, ...Array.from({ length: 400 }, () => 400));
  expect(due.pauseMs([100])).toBe(50);
  expect(due.pauseMs([700])).toBe(50);
  expect(due.pauseMs([400])).toBe(15);
});
