/** Simulated nodes that are followed over gRPC, alone and beside RPC, with the faults of streams. */
import { systemClock } from '@sluice/base/clock';
import type { FaultRequest } from '@sluice/simulator/faults/faults';
import type { SourceStatus } from '@sluice/source/source-health';
import { afterEach, describe, expect, test } from 'vitest';
import { GrpcInbox } from '../../../simulator/src/testing/grpc-inbox.ts';
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

const shape = { startSlot: 20, finalityDistance: 12 };

async function startWorld(options: WorldOptions): Promise<World> {
  const chain = { ...shape, ...options.ledger?.chain };
  const world = await start({ ...options, ledger: { ...options.ledger, chain } });
  closers.push(world.close);
  return world;
}

const latest = { start: { kind: 'latest' as const } };

/** The slot of the first stored block. */
const firstSlot = ({ following }: World) => following.dataset.snapshot().start ?? 0;

/** Waits until the state of the first source satisfies a condition. */
async function eventually(
  { ingester }: World['following'],
  holds: (source: SourceStatus) => boolean,
): Promise<void> {
  const deadline = AbortSignal.timeout(15_000);
  for (;;) {
    const [source] = ingester.status.sources;
    if (source !== undefined && holds(source)) return;
    if (deadline.aborted) throw new Error(`still ${JSON.stringify(source)}`);
    await systemClock.sleep(10);
  }
}

/** A stream begins with new blocks, so a dataset starts once the first of them is final. */
async function startAlone(options: WorldOptions = {}): Promise<World> {
  const world = await startWorld({ by: 'grpc', ...latest, ...options });
  await eventually(world.following, ({ state }) => state === 'live');
  await world.produce(20);
  await world.caughtUp();
  return world;
}

describe('gRPC alone', () => {
  test.each([
    ['whole blocks', {}],
    ['parts', { subscribe: 'transactions' as const }],
    ['processed blocks', { commitment: 'processed' as const }],
    ['processed parts', { commitment: 'processed' as const, subscribe: 'transactions' as const }],
  ])('default: the chain is followed with %s, and becomes final', async (_, grpc) => {
    const ledger = { chain: { skipRate: 0.2, forkRate: 0.1 } };
    const world = await startAlone({ grpc, ledger });
    await world.produce(20);
    const snapshot = await world.caughtUp();
    expectSameChain(snapshot, world.node, firstSlot(world));
    const { finalizedSlot } = world.node.state();
    await world.following.until('it is final', ({ finalized }) => {
      return (finalized?.number ?? 0) >= finalizedSlot;
    });
    expect(world.following.ingester.status.sources[0]).toMatchObject({
      ...{ kind: 'grpc', strikes: 0, slotsBehind: 0 },
      activity: expect.stringContaining('receives'),
    });
  });

  const faults: [string, FaultRequest][] = [
    ['duplicates', { kind: 'redeliver', copies: 3, methods: ['Subscribe'] }],
    ['disorder', { kind: 'disorder', methods: ['Subscribe'] }],
    ['the end of a stream that lags', { kind: 'grpc-end', times: 2, message: 'lagged' }],
    ['refused connections', { kind: 'grpc-refuse', times: 2 }],
    ['a fork', { kind: 'fork', depth: 3, forSlots: 4 }],
    ['a fork with a lower head', { kind: 'fork-lower', depth: 3, forSlots: 4 }],
    ['a storm of forks', { kind: 'fork-storm', depth: 3 }],
    ['a lost block', { kind: 'grpc-omit', part: 'block', times: 1 }],
    ['lost states of slots', { kind: 'grpc-omit', part: 'slot', times: 3 }],
  ];
  test.each(faults)('behavior: ingestion recovers from %s', async (_, fault) => {
    const world = await startAlone({ clock: fastClock });
    world.node.faults.set(fault);
    await world.produce(8);
    world.node.faults.clear();
    await world.produce(3);
    const snapshot = await world.caughtUp();
    expectSameChain(snapshot, world.node, firstSlot(world));
  });

  test('behavior: parts that were lost are replayed', async () => {
    const world = await startAlone({ clock: fastClock, grpc: { subscribe: 'transactions' } });
    world.node.faults.set({ kind: 'grpc-omit', part: 'transaction', times: 1 });
    await world.produce(4);
    const snapshot = await world.caughtUp();
    expectSameChain(snapshot, world.node, firstSlot(world));
  });

  test('behavior: a silent server is left, and the stream continued', async () => {
    const world = await startAlone({ clock: fastClock });
    world.node.faults.set({ kind: 'stall', methods: ['Subscribe'] });
    world.leap(10);
    await eventually(world.following, ({ fault }) => {
      return fault?.includes('nothing was received for 30 s') ?? false;
    });
    world.node.faults.clear();
    const snapshot = await world.caughtUp();
    expectSameChain(snapshot, world.node, firstSlot(world));
  });
});

describe('gRPC and RPC', () => {
  test('default: RPC delivers history, gRPC the head, without a call for a block', async () => {
    const world = await startWorld({ by: 'both' });
    expectSameChain(await world.caughtUp(), world.node);
    await world.produce(3);
    await world.caughtUp();
    world.node.faults.set({ kind: 'rpc-error', code: -32603, methods: ['getBlock', 'getBlocks'] });
    await world.produce(10);
    expectSameChain(await world.caughtUp(), world.node);
  });

  test('behavior: RPC takes over while the stream is down, and the stream afterwards', async () => {
    const world = await startWorld({ by: 'both' });
    await world.produce(3);
    await world.caughtUp();
    world.node.faults.set({ kind: 'grpc-refuse' });
    world.node.faults.set({ kind: 'grpc-end', times: 1 });
    await world.produce(6);
    expectSameChain(await world.caughtUp(), world.node);
    world.node.faults.clear();
    await world.produce(6);
    expectSameChain(await world.caughtUp(), world.node);
  });

  test('behavior: a gap that cannot be replayed is filled by RPC', async () => {
    const world = await startWorld({ by: 'both', clock: fastClock });
    await world.produce(3);
    await world.caughtUp();
    world.node.faults.set({ kind: 'grpc-no-replay' });
    world.node.faults.set({ kind: 'grpc-refuse', times: 2 });
    world.node.faults.set({ kind: 'grpc-end', times: 1, message: 'lagged' });
    world.leap(30);
    expectSameChain(await world.caughtUp(), world.node);
    await world.produce(3);
    expectSameChain(await world.caughtUp(), world.node);
  });
});

describe('restarts', () => {
  async function restart(leap: number, by: 'grpc' | 'both') {
    const fs = new SimFs();
    const world = await startAlone({ fs });
    const first = firstSlot(world);
    await world.following.stop();
    const { node } = world;
    const inbox = GrpcInbox.open(node, { slots: true });
    await inbox.ready();
    const last = node.state().processedSlot + leap;
    world.leap(leap);
    // The node sends slot after slot, and can replay the last ones once it has sent them all.
    for (let slot = 0; slot < last; ) {
      const update = await inbox.next();
      if (update.kind === 'slot' && update.status === 'processed') slot = update.slot;
    }
    inbox.close();
    const source = { kind: 'grpc' as const, name: 'grpc-1', url: node.grpcUrl };
    const following = await followNodes(by === 'both' ? [node] : [], {
      fs,
      clock: fastClock,
      sources: [source],
    });
    closers.pop();
    closers.push(() => node.close(), following.stop);
    return { node, first, following, produce: world.produce };
  }

  test('behavior: a short gap is replayed after a restart', async () => {
    const { node, first, following, produce } = await restart(100, 'grpc');
    await produce(2);
    const snapshot = await following.until('the head is reached', isCaughtUp(node));
    expectSameChain(snapshot, node, first);
  });

  test('behavior: a long gap is filled by RPC after a restart', async () => {
    const { node, first, following, produce } = await restart(200, 'both');
    await produce(2);
    const snapshot = await following.until('the head is reached', isCaughtUp(node));
    expectSameChain(snapshot, node, first);
  });

  test('error: without RPC, a long gap is reported and nothing is stored', async () => {
    const { following, produce } = await restart(200, 'grpc');
    const { head } = following.dataset.snapshot();
    await produce(2);
    await untilAlarm(following, 'ingest-stalled');
    expect(following.dataset.snapshot().head).toEqual(head);
  });
});
