/**
 * How soon what happens at a source is there. The promises are of a machine that has nothing else to do; on one that runs other
 * tests an ordinary block takes longer too, so what is allowed beside a promise is a number of ordinary blocks of the same minute, and
 * the time that the machine did not give to this process meanwhile is not counted.
 */
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { expectSameChain, startWorld, type World } from './testing/start-world.ts';

let world: World;
afterEach(() => world.close());

/** Of a timer that finds itself late by more, the process was held up, by whatever. */
const beatMs = 20;

/** Begins to count; answers with the milliseconds since, without those for which the process was held up. */
function stopwatch(): () => number {
  const startMs = performance.now();
  let heldUpMs = 0;
  let lastMs = startMs;
  const look = () => {
    heldUpMs += Math.max(0, performance.now() - lastMs - beatMs);
    lastMs = performance.now();
  };
  const over = new AbortController();
  void (async () => {
    for (; !over.signal.aborted; look()) await systemClock.sleep(beatMs, over.signal);
  })();
  return () => {
    over.abort();
    look();
    return performance.now() - startMs - heldUpMs;
  };
}

/** From the moment that the ledger has a block until it is stored: the longest of some ordinary ones. */
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

/** A disk whose syncs take as long as they are held. */
class SlowFs extends SimFs {
  isSyncing = false;
  #held: Promise<void> | undefined;

  /** Answers with what lets go of them. */
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

test('behavior: F-23 L-02 a sync of two seconds holds nothing but its own block up, for no longer', async () => {
  const fs = new SlowFs();
  world = await startWorld({ fs });
  const { following, node, produce, caughtUp } = world;
  const { dataset, ingester } = following;
  await caughtUp();
  const blockMs = await ordinaryBlockMs(world);
  const before = await caughtUp();
  const letGo = fs.hold();
  await produce(3);
  await expect.poll(() => fs.isSyncing, { timeout: 20_000 }).toBe(true);
  await systemClock.sleep(2_000);
  // What is stored is read meanwhile, and what is not durable is not there.
  const block = await dataset.decodeHotBlock(before.hot.at(-1) as HotBlock);
  expect(block.header.hash).toBe(before.head?.hash);
  expect([fs.isSyncing, dataset.snapshot().head]).toEqual([true, before.head]);
  letGo();
  const tookMs = stopwatch();
  expectSameChain(await caughtUp(), node);
  expect(tookMs()).toBeLessThan(1_000 + 20 * blockMs);
  expect(ingester.status.stallMs).toBe(0);
  expect(dataset.alarms.list()).toEqual([]);
});

test('behavior: L-08 a fork is taken within a second and the time for its blocks', async () => {
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
