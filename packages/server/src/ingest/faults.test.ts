import { type Clock, systemClock } from '@sluice/base/clock';
import type { FaultRequest } from '@sluice/simulator/faults/faults';
import { afterEach, describe, expect, test } from 'vitest';
import type { AlarmCode } from '../dataset/alarm-codes.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { fastClock } from './testing/fast-clock.ts';
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

/** A ledger of a few blocks. The oldest of them are final. */
const shape = { startSlot: 20, finalityDistance: 12 };

async function startWorld(options: WorldOptions = {}): Promise<World> {
  const chain = { ...shape, ...options.ledger?.chain };
  const world = await start({ ...options, ledger: { ...options.ledger, chain } });
  closers.push(world.close);
  return world;
}

const nextSlot = shape.startSlot + 1;

describe('one source', () => {
  const passing: [string, FaultRequest][] = [
    ['F-01 connections reset in mid-body', { kind: 'drop-connection', atByte: 300, times: 6 }],
    ['HTTP 429 without a time', { kind: 'rate-limit', times: 6 }],
    ['HTTP 429 with Retry-After', { kind: 'rate-limit', retryAfterSeconds: 1, times: 3 }],
    ['HTTP 503', { kind: 'http-status', status: 503, times: 6 }],
    ['F-07 a body that is not JSON', { kind: 'malformed-json', times: 3 }],
    ['F-07 cut gzip', { kind: 'truncated-gzip', times: 3 }],
    ['F-07 a byte order mark', { kind: 'bom', times: 3 }],
    ['F-07 invalid UTF-8', { kind: 'invalid-utf8', methods: ['getBlock'], times: 3 }],
    [
      '-32014, the block is not readable yet',
      { kind: 'rpc-error', code: -32014, methods: ['getBlock'], times: 8 },
    ],
    ['a null result', { kind: 'null-result', methods: ['getBlock'], times: 8 }],
    [
      '-32007 as a rate limit',
      { kind: 'rpc-error', code: -32007, message: 'slow down', methods: ['getBlock'], times: 4 },
    ],
    ['-32603', { kind: 'rpc-error', code: -32603, times: 6 }],
    ['-32016, behind', { kind: 'rpc-error', code: -32016, methods: ['getBlock'], times: 4 }],
    ['slots listed twice', { kind: 'redeliver', copies: 3, times: 20 }],
    ['closing sockets', { kind: 'ws-close', code: 1011, times: 5 }],
    ['notifications out of order', { kind: 'disorder' }],
    [
      'a hash with a line break',
      { kind: 'bad-hash', fromSlot: nextSlot, toSlot: nextSlot, times: 2 },
    ],
  ];
  test.each(passing)('behavior: ingestion recovers from %s', async (_name, fault) => {
    const { node, following, produce, caughtUp } = await startWorld();
    await caughtUp();
    node.faults.set(fault);
    await produce(6);
    const snapshot = await caughtUp();
    expectSameChain(snapshot, node);
    expect(following.ingester.status.sources[0]?.state).not.toBe('disabled');
  });

  const lies: [string, FaultRequest, AlarmCode][] = [
    ['F-06 a false parent hash', { kind: 'wrong-parent-hash' }, 'source-unlinked'],
    ['F-06 a false parent slot', { kind: 'wrong-parent-slot', by: 1 }, 'source-unlinked'],
    ['F-07 an invalid hash', { kind: 'bad-hash' }, 'block-field-invalid'],
    ['a false height', { kind: 'wrong-height', by: 3 }, 'chain-height-wrong'],
    ['F-05 a block mislabelled as skipped', { kind: 'skip-block', as: 'skipped' }, 'source-hole'],
    [
      'F-05 a block mislabelled as not available',
      { kind: 'skip-block', as: 'unavailable' },
      'source-hole',
    ],
  ];
  test.each(lies)('error: %s is never stored and never skipped', async (_name, fault, alarm) => {
    const { node, following, produce, caughtUp } = await startWorld();
    await caughtUp();
    // The faulty slot is two slots ahead, so that valid blocks come before and after it.
    const slot = nextSlot + 2;
    node.faults.set({ ...fault, fromSlot: slot, toSlot: slot });
    await produce(6);
    await untilAlarm(following, alarm);
    expect(following.dataset.snapshot().head?.number).toBe(slot - 1);
    node.faults.clear();
    await produce(1);
    const snapshot = await following.until('the correct blocks', isCaughtUp(node), 30_000);
    expectSameChain(snapshot, node);
    expect(following.dataset.alarms.has(alarm)).toBe(false);
  });

  test('behavior: F-05 a block that is missing from lists is found through its child', async () => {
    const { node, produce, caughtUp } = await startWorld();
    await caughtUp();
    node.faults.set({
      kind: 'skip-block',
      as: 'omitted',
      fromSlot: nextSlot + 1,
      toSlot: nextSlot + 1,
    });
    await produce(4);
    expectSameChain(await caughtUp(), node);
  });

  test('behavior: F-02 a source that stalls is abandoned and used again later', async () => {
    const { node, produce, caughtUp } = await startWorld({ clock: fastClock });
    await caughtUp();
    const startMs = fastClock.nowMs();
    node.faults.set({ kind: 'stall', methods: ['getBlock'], times: 2 });
    await produce(4);
    expectSameChain(await caughtUp(), node);
    // The call was given its full timeout of ten seconds.
    expect(fastClock.nowMs() - startMs).toBeGreaterThan(10_000);
  });

  test('behavior: I-11 a finalized slot that regresses, stalls or runs ahead never moves our finalized head back', async () => {
    const { node, following, produce, caughtUp } = await startWorld({
      ledger: { chain: { startSlot: 60 } },
    });
    await caughtUp();
    const { finalizedSlot } = node.state();
    const before = await following.until(
      'finality',
      ({ finalized }) => finalized?.number === finalizedSlot,
    );
    node.faults.set({ kind: 'finality-regress', bySlots: 15 });
    await produce(6);
    const regressed = await caughtUp();
    expect(regressed.finalized).toEqual(before.finalized);
    node.faults.clear();
    node.faults.set({ kind: 'finality-ahead', bySlots: 10 });
    const ahead = await following.until(
      'the head is final',
      ({ finalized, head }) => finalized?.hash === head?.hash,
    );
    expect(ahead.finalized?.number).toBeLessThanOrEqual(ahead.head?.number as number);
  });

  test('error: F-15 a source that serves another ledger is refused by its genesis hash', async () => {
    const fs = new SimFs();
    const { node, following, produce, caughtUp } = await startWorld({ fs });
    const before = await caughtUp();
    await following.stop();
    node.faults.set({ kind: 'other-genesis' });
    const again = await followNodes([node], { fs });
    closers.push(again.stop);
    await produce(3);
    await untilAlarm(again, 'dataset-genesis-differs');
    expect(again.ingester.status.sources[0]?.state).toBe('disabled');
    expect(again.dataset.snapshot().head).toEqual(before.head);
  });
});

describe('three sources', () => {
  const three = [{}, {}, {}];

  test('behavior: F-03 a lagging source never delays the head, even if it is asked first', async () => {
    const { nodes, produce, caughtUp } = await startWorld({ nodes: [{ lagSlots: 12 }, {}, {}] });
    await caughtUp(nodes[1]);
    await produce(6);
    const snapshot = await caughtUp(nodes[1]);
    expectSameChain(snapshot, nodes[1] as World['node']);
  });

  test('behavior: F-02 a silent source delays nothing', async () => {
    // Its own calls wait for a timeout that never comes here. Nothing else may wait for them.
    const longest = 2 ** 31 - 1;
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => systemClock.sleep(ms < 8_000 ? ms : longest, signal),
    };
    const { nodes, node, following, produce, caughtUp } = await startWorld({ nodes: three, clock });
    await caughtUp(nodes[1]);
    node.faults.set({ kind: 'stall' });
    await produce(6);
    expectSameChain(await caughtUp(nodes[1]), nodes[1] as World['node']);
    const wanted = node.state().finalizedSlot;
    await following.until('finality', ({ finalized }) => finalized?.number === wanted);
    // A stop does not wait for them either.
    await following.stop();
  });

  test('behavior: F-13 a source on another branch is outvoted and counted as faulty', async () => {
    const { nodes, node, following, produce, caughtUp } = await startWorld({ nodes: three });
    await caughtUp(nodes[1]);
    node.faults.set({ kind: 'fork', depth: 3, forSlots: 1_000 });
    await produce(6);
    expectSameChain(await caughtUp(nodes[1]), nodes[1] as World['node']);
    await untilAlarmOrStrike(following);
  });

  test('behavior: F-13 a branch that two of three sources have is taken', async () => {
    const { nodes, produce, caughtUp } = await startWorld({ nodes: three });
    await caughtUp(nodes[1]);
    for (const one of nodes.slice(0, 2))
      one.faults.set({ kind: 'fork', depth: 3, forSlots: 1_000 });
    await produce(4);
    expectSameChain(await caughtUp(nodes[0]), nodes[0] as World['node']);
  });

  test('behavior: F-13 with an agreement of two a false block of the leader is never stored', async () => {
    const { nodes, node, following, produce, leap, caughtUp } = await startWorld({
      nodes: three,
      agreement: 2,
    });
    await caughtUp(nodes[1]);
    // The fault is set before any source can have read the slot. The leader's false block there is a child of our head.
    leap(1);
    node.faults.set({ kind: 'fork', depth: 1, forSlots: 1_000 });
    await produce(5);
    expectSameChain(await caughtUp(nodes[1]), nodes[1] as World['node']);
    await untilAlarmOrStrike(following);
    expect(following.dataset.status().counters['forks'] ?? 0).toBe(0);
  });

  test('behavior: with agreement of two a block waits for the second source', async () => {
    const { nodes, node, following, produce, caughtUp } = await startWorld({
      nodes: [{}, {}],
      agreement: 2,
    });
    const before = await caughtUp();
    nodes[1]?.faults.set({ kind: 'null-result', methods: ['getBlock'] });
    await produce(2);
    const behindSlots = () => following.ingester.status.behindSlots;
    await expect.poll(behindSlots, { timeout: 20_000 }).toBe(2);
    expect(following.dataset.snapshot().head).toEqual(before.head);
    nodes[1]?.faults.clear();
    expectSameChain(await caughtUp(), node);
  });

  test('behavior: F-08 missing parts of a block are taken from another source, without an alarm', async () => {
    const { nodes, node, following, produce, caughtUp } = await startWorld({ nodes: three });
    await caughtUp(nodes[1]);
    node.faults.set({ kind: 'incomplete-meta', missing: 'logs' });
    await produce(4);
    expectSameChain(await caughtUp(nodes[1]), nodes[1] as World['node']);
    expect(following.dataset.alarms.list()).toEqual([]);
    expect(following.ingester.status.sources.map(({ strikes }) => strikes)).toEqual([0, 0, 0]);
  });

  test('behavior: F-05 a missing block of one source is taken from another', async () => {
    const { nodes, node, produce, caughtUp } = await startWorld({ nodes: three });
    await caughtUp(nodes[1]);
    node.faults.set({
      kind: 'skip-block',
      as: 'skipped',
      fromSlot: nextSlot + 1,
      toSlot: nextSlot + 1,
    });
    await produce(5);
    expectSameChain(await caughtUp(nodes[1]), nodes[1] as World['node']);
  });

  test('error: F-15 the one source of three with another genesis hash is disabled', async () => {
    const { nodes, following, caughtUp } = await startWorld({
      nodes: three,
      faults: [{ kind: 'other-genesis' }],
    });
    expectSameChain(await caughtUp(nodes[1]), nodes[1] as World['node']);
    expect(following.ingester.status.sources.map(({ state }) => state)[0]).toBe('disabled');
    expect(following.dataset.alarms.has('dataset-genesis-differs')).toBe(true);
  });
});

async function untilAlarmOrStrike({ ingester, dataset }: World['following']): Promise<void> {
  await expect
    .poll(
      () =>
        (ingester.status.sources[0]?.strikes ?? 0) > 0 || dataset.alarms.has('source-disagrees'),
      {
        timeout: 15_000,
      },
    )
    .toBe(true);
}

test('behavior: F-17 a secret in the address of a source appears in no status and no alarm', async () => {
  const { node, following, produce, caughtUp } = await startWorld({
    secretPath: '/path/s3cr3t?key=t0ken',
  });
  await caughtUp();
  node.faults.set({ kind: 'http-status', status: 500, times: 4 });
  node.faults.set({ kind: 'drop-connection', atByte: 1, times: 4 });
  await produce(4);
  await caughtUp();
  const shown = JSON.stringify([following.ingester.status, following.dataset.status()]);
  expect(shown).not.toMatch(/s3cr3t|t0ken/);
});
