import { expect, test } from 'vitest';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { StallWatch } from './stall-watch.ts';

class TestWrite {
  bytes = 100;
  readonly #clock: ManualClock;
  endedMs: number | undefined;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  unsent(): number {
    return this.bytes;
  }

  giveUp(): void {
    this.endedMs = this.#clock.nowMs();
  }
}

function start() {
  const clock = new ManualClock();
  const limits = { stallMsMax: 1_000, stallCheckMs: 100 };
  const write = () => new TestWrite(clock);
  return { clock, limits, watch: new StallWatch(limits, clock), write };
}

test('limit: a write whose client reads nothing is given up after the time limit', async () => {
  const { clock, watch, write } = start();
  const stalled = write();
  watch.add(stalled);
  await clock.advance(999);
  expect(stalled.endedMs).toBe(undefined);
  await clock.advance(1);
  expect(stalled.endedMs).toBe(1_000);
  // It is given up once, and the timer stops.
  stalled.endedMs = undefined;
  await clock.advance(2_000);
  expect([stalled.endedMs, clock.sleeperCount]).toEqual([undefined, 0]);
});

test('behavior: every progress starts the time again', async () => {
  const { clock, watch, write } = start();
  const slow = write();
  watch.add(slow);
  await clock.advance(900);
  slow.bytes = 50;
  await clock.advance(1_000);
  expect(slow.endedMs).toBe(undefined);
  await clock.advance(100);
  expect(slow.endedMs).toBe(2_000);
});

test('behavior: a write that ended is not judged, and a later one is watched again', async () => {
  const { clock, watch, write } = start();
  const [first, second] = [write(), write()];
  watch.add(first);
  watch.add(second);
  // One timer for all writes.
  expect(clock.sleeperCount).toBe(1);
  watch.remove(first);
  await clock.advance(1_000);
  expect([first.endedMs, second.endedMs]).toEqual([undefined, 1_000]);
  await clock.advance(100);
  expect(clock.sleeperCount).toBe(0);
  const third = write();
  watch.add(third);
  expect(clock.sleeperCount).toBe(1);
  await clock.advance(1_000);
  expect(third.endedMs).toBe(2_100);
});
