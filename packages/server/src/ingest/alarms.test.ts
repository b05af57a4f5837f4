/** Alarms are raised in time for events that fail to happen. */

import type { FaultRequest } from '@sluice/simulator/faults/faults';
import { afterEach, expect, test } from 'vitest';
import type { AlarmCode } from '../dataset/alarm-codes.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { fastClock } from './testing/fast-clock.ts';
import { expectSameChain, isCaughtUp, startWorld, type World } from './testing/start-world.ts';

let world: World;
afterEach(() => world.close());

/** The tests measure time on the clock of the ledger. A busy machine takes longer for it. */
const patient = { timeout: 50_000 };

test.each<[AlarmCode, number, FaultRequest]>([
  ['sources-down', 60_000, { kind: 'http-status', status: 503 }],
  ['ingest-stalled', 30_000, { kind: 'null-result', methods: ['getBlock'] }],
])(
  'behavior: L-10 %s is raised after %i ms, not much sooner, and cleared with its cause',
  async (code, ms, fault) => {
    world = await startWorld({ clock: fastClock });
    const { following, node, produce, leap } = world;
    const before = await world.caughtUp();
    const startMs = fastClock.nowMs();
    node.faults.set(fault);
    leap(5);
    await expect.poll(() => following.dataset.alarms.has(code), patient).toBe(true);
    const tookMs = fastClock.nowMs() - startMs;
    expect(tookMs).toBeGreaterThan(ms * 0.8);
    expect(tookMs).toBeLessThan(ms * 2);
    if (code === 'ingest-stalled') expect(following.ingester.status.behindSlots).toBe(5);
    // Stored blocks stay and are served.
    expect(following.dataset.snapshot().head).toEqual(before.head);
    node.faults.clear();
    await produce(1);
    expectSameChain(await following.until('ingestion continues', isCaughtUp(node)), node);
    await expect.poll(() => following.dataset.alarms.has(code), patient).toBe(false);
    expect(following.ingester.status.behindSlots).toBe(0);
  },
);

test.each<[FaultRequest['missing'], AlarmCode]>([
  ['logs', 'block-kind-missing'],
  ['rewards', 'block-kind-missing'],
  ['meta', 'block-meta-missing'],
])(
  'error: F-08 a block without %s is requested again for 30 s, then raises an alarm, and is never stored or skipped',
  async (missing, code) => {
    world = await startWorld({ clock: fastClock });
    const { following, node, produce } = world;
    const { head } = await world.caughtUp();
    // The transaction of this block succeeded, so it must have logs. Those of the adjacent blocks failed.
    const slot = (head?.number ?? 0) + 3;
    const startMs = fastClock.nowMs();
    node.faults.set({ kind: 'incomplete-meta', missing, fromSlot: slot, toSlot: slot });
    await produce(6);
    await expect.poll(() => following.dataset.alarms.has(code), patient).toBe(true);
    expect(fastClock.nowMs() - startMs).toBeGreaterThan(30_000);
    expect(following.dataset.snapshot().head?.number).toBe(slot - 1);
    // An incomplete block is not counted as a fault, so the source is asked again soon.
    expect(following.ingester.status.sources[0]?.strikes).toBe(0);
    node.faults.clear();
    expectSameChain(await following.until('the complete block is stored', isCaughtUp(node)), node);
    expect(following.dataset.alarms.has(code)).toBe(false);
  },
);

test('behavior: I-97 while a full disk stops ingestion, sources that are not asked are not reported as down', async () => {
  const fs = new SimFs();
  world = await startWorld({ clock: fastClock, fs });
  const { following, node, leap } = world;
  await world.caughtUp();
  const { diskSpace } = fs;
  fs.diskSpace = { ...diskSpace, freeBytes: 0 };
  // Free space is measured next to writes, so the shortage is detected with one of the next blocks.
  const isFull = () => following.dataset.alarms.has('disk-floor-reached');
  const offer = () => {
    leap(1);
    return isFull();
  };
  await expect.poll(offer, patient).toBe(true);
  const startMs = fastClock.nowMs();
  const seen = new Set<string>();
  await expect
    .poll(() => {
      for (const { code } of following.dataset.alarms.list()) seen.add(code);
      return fastClock.nowMs() - startMs;
    }, patient)
    .toBeGreaterThan(100_000);
  expect(isFull()).toBe(true);
  expect(seen).not.toContain('sources-down');
  fs.diskSpace = diskSpace;
  expectSameChain(await following.until('ingestion continues', isCaughtUp(node)), node);
});

test('behavior: L-10 finality-stalled is raised while no block becomes final', async () => {
  world = await startWorld({ clock: fastClock });
  const { following, produce } = world;
  await world.caughtUp();
  const isRaised = () => following.dataset.alarms.has('finality-stalled');
  await expect.poll(isRaised, patient).toBe(true);
  await produce(2);
  await expect.poll(isRaised, patient).toBe(false);
});
