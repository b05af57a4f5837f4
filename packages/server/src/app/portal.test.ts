import { systemClock } from '@sluice/base/clock';
import { TokenBucket } from '@sluice/base/token-bucket';
import { afterEach, describe, expect, test } from 'vitest';
import type { ChainSnapshot, HotBlock } from '../chain/chain-snapshot.ts';
import type { Dataset } from '../dataset/dataset.ts';
import {
  type Following,
  type FollowOptions,
  followNodes,
} from '../ingest/testing/follow-ledger.ts';
import {
  isCaughtUp,
  startWorld,
  untilAlarm,
  type World,
  type WorldOptions,
} from '../ingest/testing/start-world.ts';
import { type Meddling, startMeddler, startPortal } from './testing/start-portal.ts';

/** A ledger of a few blocks. The oldest of them are final. */
const short = { chain: { startSlot: 20, finalityDistance: 12 } };

/** A hash of 32 bytes. */
const otherHash = `${'1'.repeat(31)}2`;

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Chained {
  /** The portal's own environment: a node, and the dataset that follows it. */
  readonly world: World;
  readonly mirror: Following;
}

/** Starts a node, a Sluice that follows it, and one that follows that Sluice, optionally through a proxy that changes data. */
async function startChained(
  options: WorldOptions = {},
  meddling?: Meddling,
  follow: FollowOptions = {},
): Promise<Chained> {
  const world = await startWorld(options);
  closers.push(world.close);
  await world.caughtUp();
  const portal = await startPortal(world.following.dataset);
  closers.push(portal.close);
  const between = meddling === undefined ? undefined : await startMeddler(portal.url, meddling);
  if (between !== undefined) closers.push(between.close);
  const url = between?.url ?? portal.url;
  const mirror = await followNodes([], {
    ...follow,
    sources: [...(follow.sources ?? []), { kind: 'portal', name: 'portal', url }],
  });
  closers.push(mirror.stop);
  return { world, mirror };
}

const untilSame = ({ world, mirror }: Chained, msMax = 20_000) =>
  mirror.until('the head of the node is reached', isCaughtUp(world.node), msMax);

/** Checks that every block of the mirror is identical to the portal's. */
async function expectSameBlocks(mirror: Dataset, portal: Dataset): Promise<void> {
  const read = async (dataset: Dataset) => {
    const { hot } = dataset.snapshot();
    const blocks: [HotBlock['header'], string][] = [];
    for (const block of hot) {
      const bytes = await dataset.readHotBlock(block);
      blocks.push([block.header, Buffer.from(bytes).toString('base64')]);
    }
    return blocks;
  };
  expect(await read(mirror)).toEqual(await read(portal));
}

describe('a portal as the source', () => {
  test('default: history, new blocks and finality arrive unchanged', async () => {
    const chained = await startChained({ ledger: { chain: { skipRate: 0.1 } } });
    const { world, mirror } = chained;
    await untilSame(chained);
    await world.produce(8);
    await world.caughtUp();
    await untilSame(chained);
    await expectSameBlocks(mirror.dataset, world.following.dataset);
    const isFinal = ({ finalized }: ChainSnapshot) =>
      finalized !== null && finalized.hash === world.following.dataset.snapshot().finalized?.hash;
    await mirror.until('blocks that are final at the portal are final here', isFinal);
    expect(mirror.dataset.description.genesisHash).toBe(
      world.following.dataset.description.genesisHash,
    );
    expect(mirror.dataset.alarms.list()).toEqual([]);
  });

  test('behavior: F-10 a fork of the portal is followed, including one that lowers the head', async () => {
    const chained = await startChained();
    const { world, mirror } = chained;
    await untilSame(chained);
    await world.produce(4);
    await untilSame(chained);
    world.node.faults.set({ kind: 'fork', depth: 3, forSlots: 1_000 });
    await untilSame(chained);
    await world.produce(2);
    await untilSame(chained);
    await expectSameBlocks(mirror.dataset, world.following.dataset);
    expect(mirror.dataset.snapshot().replaced.size).toBeGreaterThan(0);
    expect(mirror.ingester.status.sources[0]).toMatchObject({ state: 'live', strikes: 0 });
  });
});

describe('requests', () => {
  test('limit: F-10 a fork of the portal costs few requests', async () => {
    const paths: string[] = [];
    const refuse = (path: string) => void paths.push(path);
    const chained = await startChained({ ledger: { chain: { finalityDistance: 40 } } }, { refuse });
    const { world, mirror } = chained;
    await untilSame(chained);
    await world.produce(10);
    await world.caughtUp();
    await untilSame(chained);
    paths.length = 0;
    world.node.faults.set({ kind: 'fork', depth: 6, forSlots: 1_000 });
    await world.produce(8);
    await world.caughtUp();
    await untilSame(chained);
    expect(mirror.dataset.snapshot().replaced.size).toBeGreaterThanOrEqual(6);
    // The finalized and the confirmed slot are requested regularly, independent of forks.
    const counted = paths.filter((path) => !path.endsWith('head'));
    expect(counted.length).toBeLessThan(20);
  });
});

describe('refusals', () => {
  test('limit: F-01 a limit of the portal is respected, and its head is reached nevertheless', async () => {
    const allowed = new TokenBucket(5, systemClock);
    const meddling: Meddling = {};
    const chained = await startChained({ ledger: { chain: { finalityDistance: 40 } } }, meddling);
    const { world, mirror } = chained;
    await untilSame(chained);
    const refusedMs: number[] = [];
    meddling.refuse = () => {
      if (allowed.tryTake({ perSecond: 5, burst: 5 })) return undefined;
      refusedMs.push(systemClock.nowMs());
      return { 'retry-after': '1' };
    };
    const startMs = systemClock.nowMs();
    await world.produce(10);
    world.node.faults.set({ kind: 'fork', depth: 6, forSlots: 1_000 });
    await world.produce(8);
    await world.caughtUp();
    await untilSame(chained);
    // Requests that were open at the same time may be refused together, but then none is sent for a second.
    const pauses = refusedMs.filter((ms, i) => i === 0 || ms - (refusedMs[i - 1] ?? 0) > 500);
    const seconds = (systemClock.nowMs() - startMs) / 1000;
    expect(pauses.length).toBeLessThanOrEqual(seconds + 1);
    expect(refusedMs.length).toBeLessThanOrEqual(4 * pauses.length);
    expect(mirror.ingester.status.sources[0]).toMatchObject({ strikes: 0 });
  });

  test('behavior: a rejected key is an alarm and is tried again, and the portal is followed when it is accepted', async () => {
    const meddling: Meddling = {};
    const chained = await startChained({}, meddling);
    const { world, mirror } = chained;
    await untilSame(chained);
    meddling.status = 401;
    await untilAlarm(mirror, 'source-key-rejected');
    expect(mirror.ingester.status.sources[0]).toMatchObject({
      state: 'waiting',
      fault: 'the key was rejected: HTTP 401',
    });
    Reflect.deleteProperty(meddling, 'status');
    await world.produce(4);
    await world.caughtUp();
    await untilSame(chained);
    await expect.poll(() => mirror.dataset.alarms.list(), { timeout: 20_000 }).toEqual([]);
  });
});

describe('bad answers', () => {
  const slotOf = (line: string) => Number(/"number":(\d+)/.exec(line)?.[1]);
  const edit = (line: string, slot: number, change: (block: Line) => void) => {
    if (slotOf(line) !== slot || !line.includes('recordCounts')) return line;
    const block = JSON.parse(line) as Line;
    change(block);
    return JSON.stringify(block);
  };
  interface Line {
    header: Record<string, unknown>;
    [kind: string]: unknown;
  }

  const lies: [string, string, (block: Line) => void][] = [
    [
      'F-08 a missing kind',
      'block-counts-differ',
      (block) => Reflect.deleteProperty(block, 'balances'),
    ],
    [
      'F-08 missing counts',
      'block-field-missing',
      ({ header }) => Reflect.deleteProperty(header, 'recordCounts'),
    ],
    [
      'F-07 an invalid address',
      'block-field-invalid',
      (block) =>
        Object.assign((block['instructions'] as object[])[0] as object, { programId: '0' }),
    ],
    [
      'records out of order',
      'block-field-invalid',
      (block) => (block['instructions'] as object[]).reverse(),
    ],
    [
      'a missing field',
      'block-field-missing',
      (block) => Reflect.deleteProperty((block['transactions'] as object[])[0] as object, 'fee'),
    ],
    [
      'F-06 a false parent hash',
      'source-unlinked',
      ({ header }) => Object.assign(header, { parentHash: otherHash }),
    ],
  ];
  test.each(lies)('error: %s is never stored: %s', async (_name, alarm, change) => {
    const slot = 12;
    let isLying = true;
    const line = (one: string) => (isLying ? edit(one, slot, change) : one);
    const chained = await startChained({ ledger: short }, { line });
    const { mirror, world } = chained;
    await untilAlarm(mirror, alarm as Parameters<typeof untilAlarm>[1]);
    expect(mirror.dataset.snapshot().head?.number).toBe(slot - 1);
    isLying = false;
    await untilSame(chained, 40_000);
    await expectSameBlocks(mirror.dataset, world.following.dataset);
    expect(mirror.dataset.alarms.list()).toEqual([]);
  });

  test('behavior: F-01 responses that end within a line lose and duplicate nothing', async () => {
    let count = 0;
    const line = (one: string) => (++count % 7 === 0 ? undefined : one);
    const chained = await startChained({ ledger: short }, { line });
    await untilSame(chained, 40_000);
    await expectSameBlocks(chained.mirror.dataset, chained.world.following.dataset);
  });

  test('error: portal-content-differs: a portal with votes is not mirrored into a dataset without votes', async () => {
    const body = (path: string, text: string) =>
      path.endsWith('/status') ? text.replace('"votes":"drop"', '"votes":"keep"') : text;
    const { mirror } = await startChained({ ledger: short }, { body });
    await untilAlarm(mirror, 'portal-content-differs');
    expect(mirror.dataset.snapshot().head).toBe(null);
    expect(mirror.ingester.status.sources[0]?.state).toBe('disabled');
  });

  test('error: dataset-genesis-differs: the address serves another ledger', async () => {
    const body = (path: string, text: string) =>
      path.endsWith('/status')
        ? text.replace(/"genesis_hash":"[^"]+"/, `"genesis_hash":"${otherHash}"`)
        : text;
    const meddling: Meddling = {};
    const chained = await startChained({ ledger: short }, meddling);
    await untilSame(chained);
    // The address now serves another ledger, which is detected when the next response starts.
    meddling.body = body;
    meddling.line = () => undefined;
    await chained.world.produce(2);
    await untilAlarm(chained.mirror, 'dataset-genesis-differs');
  });
});

describe('a portal among other sources', () => {
  test('behavior: F-13 without the node the portal is followed, and without the portal the node', async () => {
    const world = await startWorld({ nodes: [{}, {}] });
    closers.push(world.close);
    await world.caughtUp();
    const portal = await startPortal(world.following.dataset);
    closers.push(portal.close);
    const meddling: Meddling = {};
    const between = await startMeddler(portal.url, meddling);
    closers.push(between.close);
    const [, second] = world.nodes as [unknown, World['node']];
    const mirror = await followNodes([second], {
      sources: [{ kind: 'portal', name: 'portal', url: between.url }],
    });
    closers.push(mirror.stop);
    const reached = () => mirror.until('the head is reached', isCaughtUp(world.node), 30_000);
    await reached();
    second.faults.set({ kind: 'http-status', status: 503 });
    await world.produce(4);
    await reached();
    second.faults.clear();
    meddling.status = 503;
    await world.produce(4);
    await reached();
    expect(mirror.dataset.snapshot().hot.length).toBeGreaterThan(45);
  });
});
