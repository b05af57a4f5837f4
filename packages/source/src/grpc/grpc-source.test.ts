import { setImmediate as nextTurn } from 'node:timers/promises';
import { Random } from '@sluice/base/random';
import { encodeConfirmedBlock } from '@sluice/grpc/confirmed-block';
import type { SubscribeUpdate } from '@sluice/grpc/subscribe-update';
import { toSlot } from '@sluice/ledger/primitives';
import { afterEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { GrpcSource, type GrpcSourceOptions } from './grpc-source.ts';
import {
  blockOf,
  hashOf,
  metaOf,
  partOf,
  ScriptedServer,
  type ScriptedStream,
  statusOf,
} from './testing/scripted-server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Waits before a new connection pass at once; the time after which a silent stream is closed does not. */
class HastyClock extends ManualClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms <= 1_000 ? nextTurn() : super.sleep(ms, signal);
  }
}

interface World {
  readonly source: GrpcSource;
  readonly clock: ManualClock;
  /** Returns the next subscription of the source. */
  next(): Promise<ScriptedStream>;
}

async function start(options: Partial<GrpcSourceOptions> = {}): Promise<World> {
  const server = await ScriptedServer.start();
  const clock = new HastyClock();
  const source = new GrpcSource(
    { kind: 'grpc', name: 'grpc-1', url: server.url, ...options },
    { clock, random: Random.fromSeed(1) },
  );
  const stop = new AbortController();
  const running = source.notices.run(stop.signal);
  closers.push(
    () => server.stop(),
    async () => {
      stop.abort();
      await running;
    },
  );
  return { source, clock, next: () => server.next() };
}

const range = (first: number, last = 1_000) => ({ first, last });

async function slots(source: GrpcSource, first: number): Promise<unknown> {
  const answer = await source.listSlots(range(first), 'confirmed');
  return answer.kind === 'ok' ? answer.value : `${answer.reason}: ${answer.cause}`;
}

describe('whole blocks', () => {
  test('default: blocks are listed and returned as protobufs in the order of their index', async () => {
    const { source, next } = await start({ token: 'secret' });
    expect(await source.slot('confirmed')).toMatchObject({ kind: 'refused', reason: 'pending' });
    const stream = await next();
    expect(stream.call.metadata['x-token']).toBe('secret');
    expect(stream.request).toEqual({
      slots: true,
      blocks: true,
      transactions: false,
      blockMetas: false,
      commitment: 'confirmed',
      fromSlot: undefined,
      pingId: undefined,
    });
    const transactions = [partOf(11, 2), partOf(11, 0), partOf(11, 1)];
    const meta = metaOf(11, { transactionCount: 3 });
    stream.send(blockOf(10), { kind: 'block', meta, transactions }, blockOf(14, { parent: 11 }));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10, 11, 14]);
    const block = await source.block(toSlot(11), 'confirmed');
    const ordered = [partOf(11, 0), partOf(11, 1), partOf(11, 2)];
    expect(block).toEqual({ kind: 'ok', value: encodeConfirmedBlock(meta, ordered) });
    const header = await source.header(toSlot(14), 'confirmed');
    expect(header).toMatchObject({
      value: { number: 14, hash: hashOf(14), parentSlot: 11, parentHash: hashOf(11) },
    });
    expect(await source.header(toSlot(12), 'confirmed')).toMatchObject({ reason: 'skipped-hint' });
    expect(await source.header(toSlot(15), 'confirmed')).toMatchObject({ reason: 'not-available' });
    expect(await source.header(toSlot(9), 'confirmed')).toMatchObject({ reason: 'pruned' });
    expect(await source.firstAvailable()).toEqual({ kind: 'ok', value: 10 });
    expect(source.activity).toBe('receives whole blocks, slots 10 to 14');
  });

  test('behavior: each new block wakes the task that waits for it', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(blockOf(10));
    await stream.flush();
    const { signal } = new AbortController();
    const woken = source.notices.above(10, 1e9, signal);
    stream.send(blockOf(11));
    await woken;
    expect(source.notices.highest).toBe(11);
    expect(source.notices.announcedMs(11)).toBeDefined();
  });

  test('behavior: finality comes from the states of slots', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(blockOf(10), blockOf(11), blockOf(12), statusOf(8, 'finalized'));
    await stream.flush();
    expect(await source.slot('finalized')).toMatchObject({ reason: 'pending' });
    stream.send(statusOf(11, 'finalized'), statusOf(10, 'finalized'));
    await stream.flush();
    expect(await source.slot('finalized')).toEqual({ kind: 'ok', value: 11 });
    expect(await source.slot('confirmed')).toEqual({ kind: 'ok', value: 12 });
    expect(await source.header(toSlot(11), 'finalized')).toMatchObject({ kind: 'ok' });
    expect(await source.header(toSlot(12), 'finalized')).toMatchObject({ reason: 'not-available' });
    expect(await source.listSlots(range(10), 'finalized')).toEqual({ kind: 'ok', value: [10, 11] });
  });

  test('error: a block with fewer transactions than it executed is not used', async () => {
    const { source, next } = await start();
    const stream = await next();
    const meta = metaOf(11, { transactionCount: 3 });
    const lacking: SubscribeUpdate = {
      kind: 'block',
      meta,
      transactions: [partOf(11, 0), partOf(11, 2)],
    };
    stream.send(blockOf(10), lacking);
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10]);
    expect(source.activity).toContain('1 incomplete blocks dropped');
  });
});

describe('blocks in parts', () => {
  const parts = (slot: number, indexes: readonly number[]): SubscribeUpdate[] =>
    indexes.map((index) => ({ kind: 'transaction', slot, transaction: partOf(slot, index) }));
  const meta = (slot: number, transactionCount: number): SubscribeUpdate => ({
    kind: 'block-meta',
    meta: metaOf(slot, { transactionCount }),
  });

  test('default: a block is used once its meta and all its transactions are there, in any order', async () => {
    const { source, next } = await start({ subscribe: 'transactions' });
    const stream = await next();
    expect(stream.request).toMatchObject({ blocks: false, transactions: true, blockMetas: true });
    stream.send(...parts(10, [0]), meta(10, 1), ...parts(11, [2, 0, 2, 0]), meta(11, 3));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10]);
    stream.send(...parts(11, [1]));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10, 11]);
    const expected = encodeConfirmedBlock(
      metaOf(11, { transactionCount: 3 }),
      [0, 1, 2].map((index) => partOf(11, index)),
    );
    expect(await source.block(toSlot(11), 'confirmed')).toEqual({ kind: 'ok', value: expected });
  });

  test('behavior: the first slot of a subscription, which is partial, is never used', async () => {
    const { source, next } = await start({ subscribe: 'transactions' });
    const stream = await next();
    stream.send(...parts(10, [3, 4]), meta(10, 5), ...parts(11, [0]), meta(11, 1));
    await stream.flush();
    expect(await slots(source, 11)).toEqual([11]);
    expect(await slots(source, 10)).toContain('pruned: slot 10 is below slot 11');
  });

  test('error: different transactions at one position are never joined to a block', async () => {
    const { source, next } = await start({ subscribe: 'transactions' });
    const stream = await next();
    const other = { ...partOf(11, 0), transaction: Buffer.from([9]) };
    stream.send(...parts(10, [0]), meta(10, 1), ...parts(11, [0]));
    stream.send({ kind: 'transaction', slot: 11, transaction: other }, ...parts(11, [1]));
    stream.send(meta(11, 2));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10]);
    // The node gave the slot up and executed it again.
    stream.send(statusOf(11, 'dead'), ...parts(11, [0, 1]), meta(11, 2));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10, 11]);
  });

  test('limit: parts of more than 64 slots are not kept', async () => {
    const { source, next } = await start({ subscribe: 'transactions' });
    const stream = await next();
    for (let slot = 10; slot < 75; slot++) stream.send(...parts(slot, [0]));
    stream.send(meta(10, 1), meta(74, 1));
    await stream.flush();
    expect(await source.slot('confirmed')).toEqual({ kind: 'ok', value: 74 });
    expect(await source.firstAvailable()).toEqual({ kind: 'ok', value: 74 });
  });

  test.each([
    [3, 'Max amount of filters reached, only 0 allowed'],
    [12, 'blocks are not supported'],
  ])(
    'behavior: parts are requested if the server refuses whole blocks with %i',
    async (code, message) => {
      const { source, next } = await start();
      const refused = await next();
      expect(refused.request.blocks).toBe(true);
      refused.end({ code, message });
      const stream = await next();
      expect(stream.request).toMatchObject({ blocks: false, transactions: true });
      stream.send(...parts(10, [0]), meta(10, 1));
      await stream.flush();
      expect(source.activity).toBe('receives transactions and block metas, slots 10 to 10');
    },
  );
});

describe('processed blocks', () => {
  test('default: a block is used when its slot is confirmed, before or after it has arrived', async () => {
    const { source, next } = await start({ commitment: 'processed' });
    const stream = await next();
    expect(stream.request.commitment).toBe('processed');
    stream.send(blockOf(10), blockOf(11), blockOf(12), statusOf(10, 'confirmed'));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10]);
    stream.send(statusOf(13, 'confirmed'));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10]);
    // A confirmed block confirms its ancestors.
    stream.send(blockOf(13));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10, 11, 12, 13]);
  });

  test('behavior: blocks of a branch that dies are never used', async () => {
    const { source, next } = await start({ commitment: 'processed' });
    const stream = await next();
    stream.send(
      blockOf(10),
      statusOf(10, 'confirmed'),
      blockOf(11, { branch: 1, parentBranch: 0 }),
    );
    stream.send(statusOf(11, 'processed'), statusOf(11, 'dead'), blockOf(12, { parent: 10 }));
    stream.send(statusOf(12, 'confirmed'), statusOf(12, 'confirmed'), statusOf(12, 'finalized'));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10, 12]);
    expect(await source.header(toSlot(11), 'confirmed')).toMatchObject({ reason: 'skipped-hint' });
  });
});

describe('duplicates, disorder and forks', () => {
  test('behavior: duplicates and a late block change nothing', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(blockOf(10), blockOf(11), blockOf(11), blockOf(13), blockOf(10));
    await stream.flush();
    // 12 is missing, so nothing below 13 is known to belong to its chain.
    expect(await slots(source, 13)).toEqual([13]);
    stream.send(blockOf(12), statusOf(11, 'confirmed'), statusOf(11, 'confirmed'));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10, 11, 12, 13]);
  });

  test('behavior: a confirmed branch replaces blocks, also if its head is lower', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(blockOf(10), blockOf(11), blockOf(12), blockOf(13));
    stream.send(blockOf(12, { branch: 1, parentBranch: 0 }));
    await stream.flush();
    expect(await slots(source, 10)).toEqual([10, 11, 12]);
    const header = await source.header(toSlot(12), 'confirmed');
    expect(header).toMatchObject({ value: { hash: hashOf(12, 1) } });
    expect(await source.header(toSlot(13), 'confirmed')).toMatchObject({ reason: 'not-available' });
    const read = await source.readHeaders(range(11), 'confirmed');
    expect(read).toMatchObject({ value: [{ hash: hashOf(11) }, { hash: hashOf(12, 1) }] });
  });
});

describe('interruptions', () => {
  test('behavior: a stream that the server ends is continued two slots before its newest block', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(...[10, 11, 12].map((slot) => blockOf(slot)));
    await stream.flush();
    stream.end({ code: 13, message: 'lagged to receive messages' });
    const second = await next();
    expect(second.request.fromSlot).toBe(10);
    expect(await source.slot('confirmed')).toMatchObject({
      reason: 'outage',
      cause: 'gRPC status 13: lagged to receive messages',
    });
    second.send(...[11, 12, 13].map((slot) => blockOf(slot)));
    await second.flush();
    expect(await slots(source, 10)).toEqual([10, 11, 12, 13]);
  });

  test('behavior: a connection that breaks off is opened again', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(blockOf(10));
    await stream.flush();
    stream.call.destroy();
    const second = await next();
    second.send(blockOf(11));
    await second.flush();
    expect(await slots(source, 10)).toEqual([10, 11]);
  });

  test('limit: a server that sends nothing for 30 s is left', async () => {
    const { source, clock, next } = await start();
    const stream = await next();
    stream.send(blockOf(10));
    await stream.flush();
    clock.advance(29_999);
    expect(await slots(source, 10)).toEqual([10]);
    await stream.flush();
    clock.advance(29_999);
    expect(source.notices.isLive).toBe(true);
    clock.advance(1);
    await next();
    expect(await source.slot('confirmed')).toMatchObject({
      cause: 'gRPC status 4: nothing was received for 30 s',
    });
  });

  test.each([
    [11, 'broadcast from 8 is not available, last available: 50', 50],
    [13, 'failed to get replay messages from slot 8, last available: 50', 50],
    [13, 'from_slot is not supported', undefined],
  ])(
    'behavior: a replay that is refused with %i is not requested again: %s',
    async (code, message, from) => {
      const { source, next } = await start();
      const stream = await next();
      stream.send(blockOf(10));
      await stream.flush();
      stream.end({ code: 14, message: 'restart' });
      const refused = await next();
      expect(refused.request.fromSlot).toBe(8);
      refused.end({ code, message });
      const third = await next();
      expect(third.request.fromSlot).toBe(from);
      third.send(blockOf(60));
      await third.flush();
      // The gap is known, and said.
      expect(await slots(source, 11)).toBe(
        'pruned: slot 11 is below slot 60, the first one of the stream; add an RPC source of the same ledger',
      );
      expect(source.activity).toBe(
        'receives whole blocks, slots 60 to 60; cannot replay slot 11, which needs an RPC source',
      );
      expect(await slots(source, 60)).toEqual([60]);
    },
  );

  test('behavior: earlier blocks are replayed when they are needed, in parts if whole ones do not come', async () => {
    const { source, clock, next } = await start();
    const live = await next();
    live.send(blockOf(20));
    await live.flush();
    expect(await slots(source, 15)).toContain('pruned');
    const replay = await next();
    expect(replay.request).toMatchObject({ fromSlot: 13, blocks: true });
    replay.send(blockOf(21));
    await replay.flush();
    expect(await slots(source, 15)).toContain('pruned');
    expect(source.notices.isLive).toBe(true);
    clock.advance(29_999);
    expect(await slots(source, 15)).toContain('pruned');
    expect(await slots(source, 16)).toContain('pruned');
    await replay.flush();
    expect(source.notices.isLive).toBe(true);
    clock.advance(1);
    expect(await slots(source, 15)).toContain('pruned');
    const parts = await next();
    expect(parts.request).toMatchObject({ fromSlot: 13, blocks: false, transactions: true });
    for (let slot = 13; slot < 20; slot++) {
      parts.send({ kind: 'block-meta', meta: metaOf(slot, { transactionCount: 0 }) });
    }
    await parts.flush();
    expect(await slots(source, 15)).toEqual([15, 16, 17, 18, 19, 20, 21]);
  });

  test('error: a rejected token is reported as such and never repeated', async () => {
    const { source, next } = await start({ token: 'secret-token' });
    const stream = await next();
    stream.end({ code: 16, message: 'invalid token secret-token' });
    await next();
    const text = JSON.stringify([await source.slot('confirmed'), source.activity]);
    expect(text).toContain('gRPC status 16: invalid token …');
    expect(text).not.toContain('secret');
  });

  test('limit: a message above the configured size ends the stream with the size', async () => {
    const { source, next } = await start({ messageBytesMax: 1_000 });
    const stream = await next();
    stream.send(blockOf(10), blockOf(11, { transactionCount: 200 }));
    await next();
    const answer = await source.slot('confirmed');
    expect(answer).toMatchObject({ reason: 'outage' });
    expect(JSON.stringify(answer)).toContain('larger than the limit of 1000');
  });

  test('error: a damaged message counts as wrong data once', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(blockOf(10));
    stream.call.send(Buffer.from([0x1a, 0x7f]));
    await next();
    expect(await source.slot('confirmed')).toMatchObject({ reason: 'malformed' });
    expect(await source.slot('confirmed')).toMatchObject({ reason: 'outage' });
  });

  test('error: a block whose parent is not below it counts as wrong data', async () => {
    const { source, next } = await start();
    const stream = await next();
    stream.send(blockOf(10), blockOf(11, { parent: 11 }));
    await next();
    expect(await source.slot('confirmed')).toMatchObject({
      reason: 'malformed',
      cause: 'the block at slot 11 has an invalid header',
    });
  });

  test('limit: 1,024 blocks are kept', async () => {
    const { source, next } = await start();
    const stream = await next();
    for (let slot = 1; slot <= 1_030; slot++) stream.send(blockOf(slot, { transactionCount: 0 }));
    await stream.flush();
    expect(await source.firstAvailable()).toEqual({ kind: 'ok', value: 7 });
    expect(await slots(source, 999)).toEqual([999, 1_000]);
  });
});
