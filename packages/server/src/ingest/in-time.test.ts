/**
 * How soon events at a source are visible. The promised times apply to an idle machine. On a busy machine an ordinary block takes longer
 * too, so the tests allow the promised time plus the time of several ordinary blocks of the same minute, without the time for which this
 * process got no processor.
 */

import { type Clock, systemClock } from '@sluice/base/clock';
import { afterEach, expect, test } from 'vitest';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import { decodeHotBlock } from '../dataset/testing/decode-hot-block.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { expectSameChain, startWorld, type World } from './testing/start-world.ts';

let world: World;
afterEach(() => world.close());

/** If a timer is late by more than this, the process was not running. */
const beatMs = 20;

/** Starts a stopwatch. It returns the milliseconds since then, without those for which the process was not running. */
function stopwatch(): () => number {
  const startMs = performance.now();
  let heldUpMs = 0;
  let lastMs = startMs;
  const addHeldUpTime = () => {
    heldUpMs += Math.max(0, performance.now() - lastMs - beatMs);
    lastMs = performance.now();
  };
  const over = new AbortController();
  void (async () => {
    for (; !over.signal.aborted; addHeldUpTime()) await systemClock.sleep(beatMs, over.signal);
  })();
  return () => {
    over.abort();
    addHeldUpTime();
    return performance.now() - startMs - heldUpMs;
  };
}

/** Returns the longest time of several ordinary blocks, from their existence on the ledger until they are stored. */
async function ordinaryBlockMs({ produce, caughtUp }: World): Promise<number> {
  let longestMs = 0;
  for (let i = 0; i < 5; i++) {
    const tookMs = stopwatch();
    await produce(1);
    await caughtUp();
    longestMs = Math.max(longestMs, tookMs());
  }
  return longestMs;
}

/** A disk whose syncs are delayed while they are held. */
class SlowFs extends SimFs {
  isSyncing = false;
  #held: Promise<void> | undefined;

  /** Holds all syncs. Returns the function that releases them. */
  hold(): () => void {
    let letGo = () => {};
    this.#held = new Promise((resolve) => {
      letGo = resolve;
    });
    return () => {
      this.#held = undefined;
      letGo();
    };
  }

  override async openFile(...args: Parameters<SimFs['openFile']>) {
    const file = await super.openFile(...args);
    const sync = file.sync.bind(file);
    file.sync = async () => {
      this.isSyncing = this.#held !== undefined;
      await this.#held;
      this.isSyncing = false;
      await sync();
    };
    return file;
  }
}

test('behavior: F-23 L-02 a sync of two seconds delays only its own block, and no longer than that', async () => {
  const fs = new SlowFs();
  let passedMs = 0;
  const clock: Clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + passedMs,
    unixMs: () => systemClock.unixMs() + passedMs,
  };
  world = await startWorld({ fs, clock });
  const { following, node, produce, caughtUp } = world;
  const { dataset, ingester } = following;
  await caughtUp();
  const blockMs = await ordinaryBlockMs(world);
  const before = await caughtUp();
  const letGo = fs.hold();
  await produce(3);
  await expect.poll(() => fs.isSyncing, { timeout: 20_000 }).toBe(true);
  passedMs = 2_000;
  // Stored blocks can be read meanwhile, and a block that is not durable is not visible.
  const block = await decodeHotBlock(dataset, before.hot.at(-1) as HotBlock);
  expect(block.header.hash).toBe(before.head?.hash);
  expect([fs.isSyncing, dataset.snapshot().head]).toEqual([true, before.head]);
  letGo();
  const tookMs = stopwatch();
  expectSameChain(await caughtUp(), node);
  expect(tookMs()).toBeLessThan(1_000 + 20 * blockMs);
  expect(ingester.status.stallMs).toBe(0);
  expect(dataset.alarms.list()).toEqual([]);
});

test('behavior: L-08 a fork is applied within a second plus the time for its blocks', async () => {
  world = await startWorld();
  const { following, node, produce, caughtUp } = world;
  await caughtUp();
  const blockMs = await ordinaryBlockMs(world);
  const depth = 24;
  const tookMs = stopwatch();
  node.faults.set({ kind: 'fork', depth, forSlots: 1_000 });
  await produce(1);
  expectSameChain(await caughtUp(), node);
  expect(tookMs()).toBeLessThan(1_000 + depth * blockMs);
  expect(following.dataset.status().counters['forks']).toBe(1);
});

test('behavior: L-09 finality is applied within a second, even if no block arrives', async () => {
  world = await startWorld({ ledger: { chain: { startSlot: 60 } } });
  const { following, node, produce, caughtUp } = world;
  await caughtUp();
  const blockMs = await ordinaryBlockMs(world);
  // Several rounds, because the polling interval may be at its start or at its end.
  for (let round = 0; round < 4; round++) {
    node.faults.set({ kind: 'finality-stall' });
    await produce(5);
    const before = await caughtUp();
    node.faults.clear();
    const tookMs = stopwatch();
    const reported = node.state().finalizedSlot;
    expect(reported).toBeGreaterThan(before.finalized?.number ?? 0);
    const after = await following.until(
      'finality',
      ({ finalized }) => finalized?.number === reported,
    );
    expect(tookMs()).toBeLessThan(1_000 + 10 * blockMs);
    expect(after.head).toEqual(before.head);
  }
});
