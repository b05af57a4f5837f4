/**
 * How soon what happens at a source is there. The promises are of a machine that has nothing else to do; on one that runs other
 * tests an ordinary block takes longer too, so what is allowed beside a promise is a number of ordinary blocks of the same minute.
 */
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { expectSameChain, startWorld, type World } from './testing/start-world.ts';

let world: World;
afterEach(() => world.close());

/** From the moment that the ledger has a block until it is stored: the longest of some ordinary ones. */
async function ordinaryBlockMs({ produce, caughtUp }: World): Promise<number> {
  let longestMs = 0;
  for (let i = 0; i < 5; i++) {
    const startMs = performance.now();
    await produce(1);
    await caughtUp();
    longestMs = Math.max(longestMs, performance.now() - startMs);
  }
  return longestMs;
}

/** A disk whose next sync takes a while. */
class SlowFs extends SimFs {
  nextSyncMs = 0;
  isSyncing = false;

  override async openFile(...args: Parameters<SimFs['openFile']>) {
    const file = await super.openFile(...args);
    const sync = file.sync.bind(file);
    file.sync = async () => {
      const ms = this.nextSyncMs;
      this.nextSyncMs = 0;
      this.isSyncing = ms > 0;
      if (ms > 0) await systemClock.sleep(ms);
      this.isSyncing = false;
      await sync();
    };
    return file;
  }
}

test('behavior: F-23 L-02 a sync of two seconds holds nothing but its own block up, for no longer', async () => {
  const fs = new SlowFs();
  world = await startWorld({ fs });
  const { following, node, produce, caughtUp } = world;
  const { dataset, ingester } = following;
  await caughtUp();
  const blockMs = await ordinaryBlockMs(world);
  const before = await caughtUp();
  fs.nextSyncMs = 2_000;
  const startMs = performance.now();
  await produce(3);
  await expect.poll(() => fs.isSyncing).toBe(true);
  // What is stored is read meanwhile, and what is not durable is not there.
  const block = await dataset.decodeHotBlock(before.hot.at(-1) as HotBlock);
  expect(block.header.hash).toBe(before.head?.hash);
  expect([fs.isSyncing, dataset.snapshot().head]).toEqual([true, before.head]);
  expectSameChain(await caughtUp(), node);
  expect(performance.now() - startMs).toBeGreaterThan(2_000);
  expect(performance.now() - startMs).toBeLessThan(3_000 + 20 * blockMs);
  expect(ingester.status.stallMs).toBe(0);
  expect(dataset.alarms.list()).toEqual([]);
});

test('behavior: L-08 a fork is taken within a second and the time for its blocks', async () => {
  world = await startWorld();
  const { following, node, produce, caughtUp } = world;
  await caughtUp();
  const blockMs = await ordinaryBlockMs(world);
  const depth = 24;
  const startMs = performance.now();
  node.faults.set({ kind: 'fork', depth, forSlots: 1_000 });
  await produce(1);
  expectSameChain(await caughtUp(), node);
  expect(performance.now() - startMs).toBeLessThan(1_000 + depth * blockMs);
  expect(following.dataset.status().counters['forks']).toBe(1);
});

test('behavior: L-09 finality is applied within a second, also if no block comes', async () => {
  world = await startWorld({ ledger: { chain: { startSlot: 60 } } });
  const { following, node, produce, caughtUp } = world;
  await caughtUp();
  const blockMs = await ordinaryBlockMs(world);
  // Several times, since a wait of ours may be at its beginning or at its end.
  for (let round = 0; round < 4; round++) {
    node.faults.set({ kind: 'finality-stall' });
    await produce(5);
    const before = await caughtUp();
    node.faults.clear();
    const startMs = performance.now();
    const reported = node.state().finalizedSlot;
    expect(reported).toBeGreaterThan(before.finalized?.number ?? 0);
    const after = await following.until(
      'finality',
      ({ finalized }) => finalized?.number === reported,
    );
    expect(performance.now() - startMs).toBeLessThan(1_000 + 10 * blockMs);
    expect(after.head).toEqual(before.head);
  }
});
