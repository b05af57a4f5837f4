import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JetStreamFeed } from '../../packages/server/src/cluster/jetstream-feed.ts';
import { waitUntil } from './services/child.ts';
import { type NatsCluster, startNats } from './services/start-nats.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-nats-'));
let nats: NatsCluster;
const feeds: JetStreamFeed[] = [];

beforeAll(async () => {
  nats = await startNats(folder, 3);
});
afterAll(async () => {
  for (const feed of feeds) await feed.close();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The clock of a process. A process sleeps between two renewals of its lease, and while it waits for the lease of another. */
class CountingClock implements Clock {
  readonly nowMs = systemClock.nowMs;
  readonly unixMs = systemClock.unixMs;
  #sleepCount = 0;
  #wake: () => void = () => undefined;

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await systemClock.sleep(ms, signal);
    this.#sleepCount++;
    this.#wake();
  }

  /** Resolves when the process has slept this many times more. */
  async untilSlept(count: number): Promise<void> {
    const goal = this.#sleepCount + count;
    while (this.#sleepCount < goal) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

interface OpenOptions {
  readonly clock?: Clock;
  readonly bytesMax?: number;
  readonly leaseMs?: number;
  readonly ports?: readonly number[];
}

/** Tries again while the servers do not respond: the test before may have restarted some, which are still electing their leaders. */
async function open(dataset: string, given: OpenOptions = {}): Promise<JetStreamFeed> {
  const { ports = nats.ports, clock = systemClock, ...options } = given;
  const servers = ports.map((port) => `nats://127.0.0.1:${port}`);
  const rest = { bytesMax: 1 << 30, replicas: 3, leaseMs: 2_000, ...options };
  let feed: JetStreamFeed | undefined;
  await waitUntil('the servers accept a feed', async () => {
    try {
      feed = await JetStreamFeed.open({ dataset, servers, ...rest }, { clock });
      return true;
    } catch (error) {
      if (!isCodedError(error, 'feed-unreachable')) throw error;
      return false;
    }
  });
  if (feed === undefined) throw new Error('the feed was not opened');
  feeds.push(feed);
  return feed;
}

const text = (value: string) => new TextEncoder().encode(value);
const never = new AbortController().signal;

/** Reads as the service does: if the servers do not respond in time, for example during an election, it continues after the last message. */
async function* readPatiently(feed: JetStreamFeed, first: number, signal: AbortSignal) {
  let next = first;
  while (!signal.aborted) {
    try {
      for await (const message of feed.read(next, signal)) {
        next = message.sequence + 1;
        yield message;
      }
    } catch (error) {
      if (!isCodedError(error, 'feed-unreachable')) throw error;
    }
  }
}

test('default: messages are read in order from any sequence, also while they arrive', async () => {
  const [writer, reader] = [await open('order'), await open('order')];
  for (let i = 0; i < 5; i++) expect(await writer.publish(text(`m${i}`), i)).toBe(i + 1);
  const stop = new AbortController();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { sequence, bytes } of readPatiently(reader, 3, stop.signal)) {
      seen.push(`${sequence} ${new TextDecoder().decode(bytes)}`);
      if (sequence === 7) stop.abort();
    }
  })();
  await writer.publish(text('m5'), 5);
  await writer.publish(text('m6'), 6);
  await reading;
  expect(seen).toEqual(['3 m2', '4 m3', '5 m4', '6 m5', '7 m6']);
  expect(await reader.readLastSequence()).toBe(7);
});

test('behavior: a read that is aborted before its first message ends', async () => {
  const feed = await open('abort');
  await feed.publish(text('m0'), 0);
  const stop = new AbortController();
  // The abort comes while the consumer is being created, as for a process that gets the lease at that moment.
  const first = feed.read(1, stop.signal).next();
  stop.abort();
  expect(await first).toMatchObject({ done: true });
}, 60_000);

test('error: feed-fenced: of concurrent writers exactly one succeeds, and a stale one never', async () => {
  const [one, two] = [await open('fence'), await open('fence')];
  // The same holds for an empty stream.
  for (const last of [0, 1]) {
    const attempts = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? one : two).publish(text(`${i}`), last).then(
        () => 'won',
        (error: { code: string }) => error.code,
      ),
    );
    const outcomes = await Promise.all(attempts);
    expect(outcomes.filter((outcome) => outcome === 'won')).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(['won', 'feed-fenced']));
    expect(await one.readLastSequence()).toBe(last + 1);
  }
});

test('behavior: one process holds the lease; after it becomes silent, another process gets the lease', async () => {
  const leaseMs = 3_000;
  const clock = new CountingClock();
  const [one, two] = [await open('lease', { leaseMs }), await open('lease', { leaseMs, clock })];
  const first = await one.acquireLease('one', never);
  const waiting = two.acquireLease('two', never);
  let isTaken = false;
  void waiting.then(() => {
    isTaken = true;
  });
  // The process that waits reads the lease four times in the time of a lease.
  await clock.untilSlept(6);
  expect([first?.signal.aborted, isTaken]).toEqual([false, false]);
  await one.close();
  const closedMs = performance.now();
  const second = await waiting;
  expect(performance.now() - closedMs).toBeLessThan(leaseMs * 4);
  expect(first?.signal.aborted).toBe(true);
  expect(second?.signal.aborted).toBe(false);
  await second?.release();
});

test('behavior: without one server of three the feed works; without a quorum it reports an error, and recovers', async () => {
  const feed = await open('quorum');
  let sequence = await feed.publish(text('a'), 0);
  const [, second, third] = nats.servers;
  await third?.child.stop('SIGKILL');
  await waitUntil('a publish succeeds with two servers', async () => {
    const last = await feed.readLastSequence().catch(() => undefined);
    if (last === undefined) return false;
    sequence = await feed.publish(text('b'), last).catch(() => 0);
    return sequence > 0;
  });
  await second?.child.stop('SIGKILL');
  await expect(feed.publish(text('c'), sequence)).rejects.toMatchObject({
    code: 'feed-unreachable',
  });
  second?.restart();
  third?.restart();
  await waitUntil('a publish succeeds again', async () => {
    const last = await feed.readLastSequence().catch(() => undefined);
    return last !== undefined && (await feed.publish(text('d'), last).catch(() => 0)) > 0;
  });
});

test('behavior: a leader that has lost its followers does not report a newest message', async () => {
  const first = await open('stale');
  await first.publish(text('a'), 0);
  const { cluster } = await first.readInfo();
  const leader = nats.servers.findIndex((_, i) => cluster?.leader === `n${i}`);
  const port = nats.ports[leader];
  if (port === undefined) throw new Error(`no leader: ${cluster?.leader}`);
  const feed = await open('stale', { ports: [port] });
  expect(await feed.readLastSequence()).toBe(1);
  const others = nats.servers.filter((_, i) => i !== leader);
  for (const { child } of others) child.process.kill('SIGSTOP');
  try {
    // It may answer as long as its followers answered a moment ago: no other leader can exist yet.
    await waitUntil('the feed does not answer', () =>
      feed.readLastSequence().then(
        () => false,
        (error: unknown) => isCodedError(error, 'feed-unreachable'),
      ),
    );
  } finally {
    for (const { child } of others) child.process.kill('SIGCONT');
  }
  await waitUntil('the feed answers again', () =>
    feed.readLastSequence().then(
      (last) => last === 1,
      () => false,
    ),
  );
  // The leases have a leader of their own, which the servers may still be electing.
  await waitUntil('a lease is granted again', () =>
    feed.acquireLease('any', never).then(
      async (lease) => {
        await lease?.release();
        return lease !== undefined;
      },
      () => false,
    ),
  );
});

test('behavior: the process that takes the lease applies limits that were configured later', async () => {
  const [clockOne, clockTwo] = [new CountingClock(), new CountingClock()];
  const one = await open('limits', { bytesMax: 64 << 20, clock: clockOne });
  const two = await open('limits', { bytesMax: 128 << 20, leaseMs: 20_000, clock: clockTwo });
  const lease = await two.acquireLease('two', never);
  expect((await one.readInfo()).config.max_bytes).toBe(128 << 20);
  // The first process determines the time to live of the leases for all processes.
  await clockTwo.untilSlept(6);
  expect(lease?.signal.aborted).toBe(false);
  const stop = new AbortController();
  const waiting = one.acquireLease('one', stop.signal);
  await clockOne.untilSlept(2);
  stop.abort();
  expect(await waiting).toBeUndefined();
  await lease?.release();
});

test('error: feed-gap: a stream that is shorter than the position of a reader was created again', async () => {
  const feed = await open('short');
  await feed.publish(text('a'), 0);
  const read = async () => {
    for await (const { sequence } of feed.read(5, never)) return sequence;
    return 0;
  };
  await expect(read()).rejects.toMatchObject({ code: 'feed-gap' });
});

test('error: feed-gap: a reader whose messages were removed gets an error', async () => {
  const feed = await open('gap');
  for (let i = 0; i < 5; i++) await feed.publish(text(`${i}`), i);
  await feed.purgeBelow(4);
  const read = async () => {
    for await (const { sequence } of feed.read(2, never)) return sequence;
    return 0;
  };
  await expect(read()).rejects.toMatchObject({ code: 'feed-gap' });
});

test('limit: a nearly full stream is reported before it refuses messages', async () => {
  const feed = await open('full', { bytesMax: 64 << 20 });
  const large = new Uint8Array(1_000_000);
  let sequence = await feed.readLastSequence();
  while (!feed.isNearlyFull) sequence = await feed.publish(large, sequence);
  expect(await feed.publish(text('a seal still fits'), sequence)).toBe(sequence + 1);
  await feed.purgeBelow(sequence);
  expect(feed.isNearlyFull).toBe(false);
});

// This test is the last one: after the pause the servers may elect new leaders, and other tests would have to wait for them.
test('behavior: a read that is aborted while no server responds ends; error: feed-unreachable if it is not aborted', async () => {
  const feed = await open('paused');
  await feed.publish(text('m0'), 0);
  const stop = new AbortController();
  for (const { child } of nats.servers) child.process.kill('SIGSTOP');
  try {
    const reads = [feed.read(1, stop.signal).next(), feed.read(1, never).next()];
    stop.abort();
    expect(await Promise.allSettled(reads)).toMatchObject([
      { status: 'fulfilled', value: { done: true } },
      { status: 'rejected', reason: { code: 'feed-unreachable' } },
    ]);
  } finally {
    for (const { child } of nats.servers) child.process.kill('SIGCONT');
  }
});
