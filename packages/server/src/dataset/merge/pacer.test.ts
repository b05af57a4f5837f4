import { expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { Pacer, restInThread } from './pacer.ts';

const megabyte = 1 << 20;

test('limit: four megabytes are written in a second, and neither waiting nor slow work lets later bytes through faster', () => {
  const clock = new ManualClock();
  const rests: number[] = [];
  const rest = (ms: number) => {
    rests.push(ms);
    clock.advance(ms);
  };
  const pacer = new Pacer({ clock, rest });
  const work = (bytes: number, ms: number) => {
    pacer.add(bytes);
    clock.advance(ms);
    pacer.rest();
  };
  work(megabyte, 50);
  work(2 * megabyte, 50);
  work(megabyte, 5_000);
  work(megabyte, 50);
  clock.advance(5_000);
  pacer.begin();
  work(megabyte, 50);
  work(0, 50);
  expect(rests).toEqual([200, 450, 0, 200, 200, 0]);
});

test('behavior: a rest blocks the thread for that time', () => {
  const startMs = performance.now();
  restInThread(30);
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(29);
});
