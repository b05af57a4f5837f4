import type { Slot } from '@sluice/ledger/primitives';
import { afterEach, describe, expect, test } from 'vitest';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { decodeHotBlock } from '../dataset/testing/decode-hot-block.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { followNodes } from './testing/follow-ledger.ts';
import {
  expectSameChain,
  isCaughtUp,
  startWorld as start,
  untilAlarm,
  type World,
  type WorldOptions,
} from './testing/start-world.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startWorld(options: WorldOptions = {}): Promise<World> {
  const world = await start(options);
  closers.push(world.close);
  return world;
}

describe('following one node', () => {
  test('default: every block from genesis is stored and linked, with the finalized head close behind', async () => {
    const { node, following, produce } = await startWorld();
    await following.until('the history is there', isCaughtUp(node));
    await produce(20);
    const snapshot = await following.until('the head is reached', isCaughtUp(node));
    expectSameChain(snapshot, node);
    const { finalizedSlot } = node.state();
    const final = await following.until(
      'finality',
      ({ finalized }) => finalized?.number === finalizedSlot,
    );
    expect(final.finalized?.hash).toBe(node.ledger.chain.blockAt(finalizedSlot)?.blockhash);
    const [block] = final.hot;
    const decoded = await decodeHotBlock(following.dataset, block as ChainSnapshot['hot'][number]);
    expect(decoded.header).toEqual(block?.header);
    expect(following.dataset.status().alarms).toEqual([]);
  });

  test('behavior: skipped slots of any number are recognized by the link of the next block', async () => {
    const { node, following, produce, leap } = await startWorld({
      ledger: { chain: { skipRate: 0.4, startSlot: 200 } },
    });
    await following.until('the history is there', isCaughtUp(node));
    await produce(30);
    leap(150);
    const snapshot = await following.until('the head is reached', isCaughtUp(node));
    expectSameChain(snapshot, node);
  });

  test('behavior: without notifications the source is polled', async () => {
    const { node, following, produce } = await startWorld({ withSockets: false });
    await following.until('the history is there', isCaughtUp(node));
    await produce(10);
    expectSameChain(await following.until('the head is reached', isCaughtUp(node)), node);
  });

  test('behavior: a later start takes its anchor from the first block at or after the slot', async () => {
    const { node, following } = await startWorld({
      ledger: { chain: { startSlot: 300, skipRate: 0.3 } },
      start: { kind: 'slot', slot: 120 as Slot },
    });
    const snapshot = await following.until('the head is reached', isCaughtUp(node));
    const { chain } = node.ledger;
    const first = chain.nextBlock(120);
    const parent = chain.previousBlock(119);
    expect(snapshot.start).toBe(parent + 1);
    expect(snapshot.anchor).toEqual({ number: parent, hash: chain.blockAt(parent)?.blockhash });
    expectSameChain(snapshot, node, first);
  });

  test.each([
    { start: { kind: 'genesis' } },
    { start: { kind: 'slot', slot: 40 as Slot } },
  ] as const)(
    'error: source-start-missing: a source that lacks the start $start is reported, and the dataset does not start later',
    async ({ start: startPoint }) => {
      const { following } = await startWorld({
        ledger: { chain: { startSlot: 300, historySlots: 100 } },
        start: startPoint,
      });
      await untilAlarm(following, 'source-start-missing');
      const [alarm] = following.dataset.status().alarms;
      expect(alarm?.message).toMatch(
        /begins at slot (\d+): start with --from earliest or --from \1 /,
      );
      expect(following.dataset.snapshot().start).toBeNull();
    },
  );

  test('behavior: the start `earliest` is the first block that the source has', async () => {
    const { node, following } = await startWorld({
      ledger: { chain: { startSlot: 300, historySlots: 100 } },
      start: { kind: 'earliest' },
    });
    const snapshot = await following.until('the head is reached', isCaughtUp(node));
    expect(snapshot.start).toBeGreaterThan(150);
    expectSameChain(snapshot, node, snapshot.start ?? undefined);
  });

  test('behavior: a start above the ledger is reported, and used when the ledger reaches it', async () => {
    const world = await startWorld({
      ledger: { chain: { startSlot: 300 } },
      start: { kind: 'slot', slot: 290 as Slot },
    });
    const { following, node } = world;
    await untilAlarm(following, 'source-start-missing');
    const [alarm] = following.dataset.status().alarms;
    expect(alarm?.message).toMatch(/has only reached slot 2\d\d: /);
    await world.produce(60);
    await following.until('the head is reached', isCaughtUp(node));
    expect(following.dataset.snapshot().start).toBeGreaterThan(280);
    expect(following.dataset.status().alarms).toEqual([]);
  });

  test('behavior: I-74 a restart continues from the stored head, even if a fork happened meanwhile', async () => {
    const fs = new SimFs();
    const first = await startWorld({ fs });
    await first.following.until('the history is there', isCaughtUp(first.node));
    await first.produce(5);
    await first.following.until('the head is reached', isCaughtUp(first.node));
    await first.following.stop();
    first.node.faults.set({ kind: 'fork', depth: 4, forSlots: 1_000 });
    first.leap(3);
    const again = await followNodes([first.node], { fs });
    closers.push(() => again.stop());
    const stored = again.dataset.snapshot();
    expect(stored.head).not.toBeNull();
    const snapshot = await again.until('the branch is taken', isCaughtUp(first.node));
    expectSameChain(snapshot, first.node);
    expect(snapshot.replaced.size).toBe(4);
  });
});

test('behavior: L-18 final blocks are sealed and old ones trimmed during following, and the rest stays unchanged', async () => {
  const { node, following, produce, caughtUp } = await startWorld({
    ledger: { chain: { startSlot: 120 } },
    limits: { sealBlockCount: 16 },
    retention: { kind: 'blocks', count: 70 },
  });
  await caughtUp();
  await produce(3);
  await caughtUp();
  // Maintenance trims before and after each seal, so the first trim is not the last one.
  await following.until('old blocks are trimmed', ({ segments, hot }) => {
    const sealedCount = segments.reduce((sum, { blockCount }) => sum + blockCount, 0);
    return sealedCount + hot.length < 70 + 2 * 16;
  });
  const { dataset } = following;
  const lease = dataset.acquire();
  const stored: string[] = [];
  for (const segment of lease.snapshot.segments) {
    for (const { hash } of await dataset.readHeaders(segment)) stored.push(hash);
  }
  for (const { header } of lease.snapshot.hot) stored.push(header.hash);
  const { branch, confirmedSlot } = node.state();
  const { start } = lease.snapshot;
  lease.release();
  const slots = Array.from(
    { length: confirmedSlot - (start ?? 0) + 1 },
    (_, i) => (start ?? 0) + i,
  );
  expect(stored).toEqual(slots.map((slot) => branch.blockAt(slot)?.blockhash));
  expect(stored.length).toBeGreaterThanOrEqual(70);
  expect(stored.length).toBeLessThan(70 + 2 * 16);
});

describe('forks', () => {
  test.each([1, 4, 24])(
    'behavior: F-10 a fork of depth %i is applied completely, and so is the return to the first branch',
    async (depth) => {
      const { node, following, produce } = await startWorld();
      await following.until('the history is there', isCaughtUp(node));
      await produce(3);
      await following.until('the head is reached', isCaughtUp(node));
      const seen = new Set<number>();
      const floor = following.dataset.snapshot().hot.length - depth;
      const watch = (snapshot: ChainSnapshot) => {
        seen.add(snapshot.hot.length);
        return isCaughtUp(node)(snapshot);
      };
      node.faults.set({ kind: 'fork', depth, forSlots: 1_000 });
      await produce(1);
      const forked = await following.until('the branch is taken', watch);
      expectSameChain(forked, node);
      expect(forked.replaced.size).toBe(depth);
      expect(Math.min(...seen)).toBeGreaterThan(floor);
      node.faults.clear();
      await produce(1);
      const back = await following.until('the first branch is back', isCaughtUp(node));
      expectSameChain(back, node);
    },
  );

  test('behavior: a branch with a lower tip is taken', async () => {
    const { node, following, produce } = await startWorld();
    await following.until('the history is there', isCaughtUp(node));
    await produce(3);
    const before = await following.until('the head is reached', isCaughtUp(node));
    node.faults.set({ kind: 'fork-lower', depth: 5, lowerBy: 3, forSlots: 1_000 });
    const after = await following.until('the lower branch is taken', isCaughtUp(node));
    expect(after.head?.number).toBeLessThan(before.head?.number as number);
    expectSameChain(after, node);
    expect(after.replaced.has(before.head?.hash as never)).toBe(true);
  });

  test('behavior: F-12 a fork below the finalized head is refused with an alarm, and reads continue', async () => {
    const { node, following, produce } = await startWorld();
    const { finalizedSlot } = node.state();
    await following.until('finality', ({ finalized }) => finalized?.number === finalizedSlot);
    const before = await following.until('the head is reached', isCaughtUp(node));
    node.faults.set({ kind: 'fork-below-finality', depth: 3 });
    await produce(5);
    await untilAlarm(following, 'source-contradicts-finality');
    expect(following.dataset.snapshot().head).toEqual(before.head);
    node.faults.clear();
    await produce(1);
    expectSameChain(await following.until('the right chain continues', isCaughtUp(node)), node);
    await expect.poll(() => following.dataset.alarms.list(), { timeout: 10_000 }).toEqual([]);
  });
});
