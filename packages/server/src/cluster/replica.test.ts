import { once } from 'node:events';
import type { Clock } from '@sluice/base/clock';
import { afterEach, expect, test, vi } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { decodeMessage } from './feed-message.ts';
import { type Member, readAll, refAt, runOf, startMember, stateOf } from './testing/member.ts';
import { MemoryFeed } from './testing/memory-feed.ts';

const members: Member[] = [];
afterEach(async () => {
  for (const member of members.splice(0)) await member.close();
});

async function start(
  world: { store: MemoryStore; feed: MemoryFeed },
  fs = new SimFs(),
  clock?: Clock,
): Promise<Member> {
  const member = await startMember(world, fs, true, clock);
  members.push(member);
  return member;
}

const newWorld = (bytesMax?: number) => ({
  store: new MemoryStore(),
  feed: new MemoryFeed(bytesMax),
});
const never = new AbortController().signal;
const noFence = () => undefined;

async function startLeader(
  world: { store: MemoryStore; feed: MemoryFeed },
  fs = new SimFs(),
): Promise<Member> {
  const member = await start(world, fs);
  await member.replica.lead(noFence);
  return member;
}

/** A chain with sealed, hot and replaced blocks. */
async function grow({ dataset }: Member): Promise<void> {
  await dataset.commit([{ kind: 'create', anchor: refAt(9) }]);
  await dataset.commit([{ kind: 'extend', blocks: runOf(10, 20) }]);
  await dataset.commit([{ kind: 'finalize', block: refAt(18) }]);
  await dataset.commit([{ kind: 'replace', ancestor: refAt(18), blocks: runOf(19, 22, 1, 19) }]);
  while (await dataset.seal());
}

test('default: a copy of the feed has the state of the writer, and reads the same blocks', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const reader = await start(world);
  expect(stateOf(reader.dataset)).toEqual(stateOf(leader.dataset));
  expect(stateOf(reader.dataset).ids).toHaveLength(2);
  expect(await readAll(reader.dataset)).toEqual(await readAll(leader.dataset));
  const [segment] = reader.dataset.snapshot().segments;
  if (segment === undefined) throw new Error('no segment');
  expect(await reader.dataset.readHeaders(segment)).toEqual(
    runOf(10, 13).map(({ header }) => header),
  );
});

test('behavior: a reader that starts from a manifest reads only the messages that the manifest refers to', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const keeper = await leader.keeper();
  await keeper.advance();
  const { feed } = await leader.bucket.log.read(1);
  await world.feed.purgeBelow(Math.min(...(feed?.blocks ?? []).map(([sequence]) => sequence)));
  expect(world.feed.messages[0]?.sequence).toBeGreaterThan(1);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 25, 1, 19) }]);
  const reader = await start(world);
  expect(stateOf(reader.dataset)).toEqual(stateOf(leader.dataset));
  expect(await readAll(reader.dataset)).toEqual(await readAll(leader.dataset));
});

test('error: feed-fenced: a stale writer changes nothing, follows, and can lead again', async () => {
  const world = newWorld();
  const stale = await startLeader(world);
  await grow(stale);
  const next = await start(world);
  await next.replica.lead(noFence);
  await next.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  const before = stateOf(stale.dataset);
  const rival = runOf(23, 23, 1, 19).map(({ header, bytes }) => ({
    header: { ...header, hash: refAt(23, 2).hash },
    bytes,
  }));
  const commit = stale.dataset.commit([{ kind: 'extend', blocks: rival }]);
  await expect(commit).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(stale.replica.isLeading).toBe(false);
  expect(stateOf(stale.dataset)).toEqual(before);
  // The writer stays fenced even after its local journal works again.
  await stale.dataset.reopen();
  const again = stale.dataset.commit([{ kind: 'extend', blocks: rival }]);
  await expect(again).rejects.toMatchObject({ code: 'dataset-write-failed' });
  await stale.replica.catchUp(never);
  expect(stateOf(stale.dataset)).toEqual(stateOf(next.dataset));
  next.replica.unlead();
  await stale.replica.lead(noFence);
  await stale.dataset.commit([{ kind: 'extend', blocks: runOf(24, 24, 1, 19) }]);
  await next.replica.catchUp(never);
  expect(stateOf(next.dataset)).toEqual(stateOf(stale.dataset));
});

test('behavior: a message whose acknowledgement was lost is found by following, and is not sent again', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  world.feed.isAckLost = true;
  const lost = leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  await expect(lost).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(leader.dataset.snapshot().head).toEqual(refAt(22, 1));
  world.feed.isAckLost = false;
  await leader.replica.catchUp(never);
  expect(leader.dataset.snapshot().head).toEqual(refAt(23, 1));
  const reader = await start(world);
  expect(stateOf(reader.dataset)).toEqual(stateOf(leader.dataset));
});

test('behavior: a block that does not fit into a message is sent through the object store', async () => {
  const world = newWorld(3_500);
  const leader = await startLeader(world);
  await grow(leader);
  const keys = [...world.store.objects.keys()];
  expect(keys.some((key) => key.startsWith('ledger/blocks/10-'))).toBe(true);
  const reader = await start(world);
  expect(await readAll(reader.dataset)).toEqual(await readAll(leader.dataset));
});

test('behavior: confirm returns true once everything is applied, and false while the feed does not respond', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const reader = await start(world);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  const stop = new AbortController();
  const confirmed = reader.dataset.confirm?.();
  const following = reader.replica.follow(stop.signal);
  expect(await confirmed).toBe(true);
  expect(reader.dataset.snapshot().head).toEqual(refAt(23, 1));
  world.feed.isDown = true;
  expect(await reader.dataset.confirm?.()).toBe(false);
  stop.abort();
  await following;
  world.feed.isDown = false;
  // Following has ended, so this copy stays behind.
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(24, 24, 1, 19) }]);
  expect(await reader.dataset.confirm?.()).toBe(false);
});

test('error: feed-full: new blocks wait while sealing continues', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  world.feed.isNearlyFull = true;
  const extend = leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  await expect(extend).rejects.toMatchObject({ code: 'feed-full' });
  expect(leader.replica.isLeading).toBe(true);
  expect(leader.dataset.alarms.has('feed-full')).toBe(true);
  await leader.dataset.commit([{ kind: 'finalize', block: refAt(22, 1) }]);
  expect(await leader.dataset.seal()).toBe(true);
  world.feed.isNearlyFull = false;
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  expect(leader.dataset.alarms.has('feed-full')).toBe(false);
});

test('behavior: a new leader fences the old one before it writes anything', async () => {
  const world = newWorld();
  const paused = await startLeader(world);
  await grow(paused);
  const next = await start(world);
  await next.replica.lead(noFence);
  const late = paused.dataset.commit([{ kind: 'finalize', block: refAt(22, 1) }]);
  await expect(late).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(next.dataset.snapshot().finalized).toEqual(refAt(18));
});

test('error: feed-fenced: a process that does not lead cannot write, even if it is up to date', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const reader = await start(world);
  const { length } = world.feed.messages;
  const commit = reader.dataset.commit([{ kind: 'finalize', block: refAt(22, 1) }]);
  await expect(commit).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(world.feed.messages).toHaveLength(length);
  expect(reader.dataset.snapshot().finalized).toEqual(refAt(18));
});

test('behavior: a leader whose disk fails after a message was stored does not publish a conflicting message', async () => {
  const world = newWorld();
  const fs = new SimFs();
  const leader = await startLeader(world, fs);
  await grow(leader);
  fs.fault = ({ name, path }) => (path.includes('journal') && name !== 'read' ? 'EIO' : undefined);
  const blocks = runOf(23, 23, 1, 19);
  const failed = leader.dataset.commit([{ kind: 'extend', blocks }]);
  await expect(failed).rejects.toMatchObject({ code: 'dataset-write-failed' });
  const reader = await start(world);
  expect(reader.dataset.snapshot().head).toEqual(refAt(23, 1));
  expect(leader.replica.applied).toBe(reader.replica.applied - 1);
  fs.fault = () => undefined;
  await leader.dataset.reopen();
  const rival = runOf(23, 23, 1, 19).map(({ header, bytes }) => ({
    header: { ...header, hash: refAt(23, 2).hash },
    bytes,
  }));
  const contradiction = leader.dataset.commit([{ kind: 'extend', blocks: rival }]);
  await expect(contradiction).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(leader.replica.isLeading).toBe(false);
  leader.replica.unlead();
  await leader.replica.catchUp(never);
  expect(stateOf(leader.dataset)).toEqual(stateOf(reader.dataset));
});

test('behavior: a manifest has the position of the feed at its own state, also after later commits', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const snapshot = leader.dataset.snapshot();
  const position = leader.replica.position(snapshot);
  expect(position.sequence).toBe(leader.replica.applied);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  expect(leader.replica.position(snapshot)).toEqual(position);
  expect(leader.replica.position(leader.dataset.snapshot()).sequence).toBe(position.sequence + 1);
});

test('behavior: a reading of the feed that delivers nothing although the feed has a message is restarted', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const clock = new ManualClock();
  const reader = await start(world, new SimFs(), clock);
  const read = world.feed.read.bind(world.feed);
  const silent = vi.spyOn(world.feed, 'read').mockImplementationOnce(async function* (_, signal) {
    await once(signal, 'abort');
    yield* [];
  });
  silent.mockImplementation(read);
  const stop = new AbortController();
  const following = reader.replica.follow(stop.signal);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  await vi.waitUntil(
    () => {
      clock.advance(500);
      return reader.dataset.snapshot().head?.number === 23;
    },
    { timeout: 10_000 },
  );
  expect(silent).toHaveBeenCalledTimes(2);
  stop.abort();
  await following;
});

test('behavior: commits of a message that were applied before the disk failed are not applied again', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  const fs = new SimFs();
  const reader = await start(world, fs);
  const { length } = world.feed.messages;
  // The last two wait for the first, and are published together. The first of these must not be repeated.
  await Promise.all([
    leader.dataset.commit([{ kind: 'announce', files: ['segments/a'] }]),
    leader.dataset.commit([{ kind: 'create', anchor: refAt(9) }]),
    leader.dataset.commit([{ kind: 'extend', blocks: runOf(10, 12) }]),
  ]);
  expect(world.feed.messages).toHaveLength(length + 2);
  const isCreated = () => reader.dataset.snapshot().start !== null;
  fs.fault = ({ name }) => (name === 'write' && isCreated() ? 'ENOSPC' : undefined);
  const applying = reader.replica.catchUp(never);
  await expect(applying).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect([isCreated(), reader.dataset.snapshot().head]).toEqual([true, null]);
  fs.fault = () => undefined;
  await reader.dataset.reopen();
  await reader.replica.catchUp(never);
  expect(stateOf(reader.dataset)).toEqual(stateOf(leader.dataset));
});

test('behavior: a start does not need a large block that was sealed and removed', async () => {
  const world = newWorld(2_000);
  const leader = await startLeader(world);
  await leader.dataset.commit([{ kind: 'create', anchor: refAt(9) }]);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(10, 16) }]);
  await leader.dataset.commit([{ kind: 'finalize', block: refAt(16) }]);
  while (await leader.dataset.seal());
  // Blocks 10 to 13 are sealed, 14 to 16 are hot, and one message carries both.
  await (await leader.keeper()).advance();
  for (const key of [...world.store.objects.keys()]) {
    if (/blocks\/1[0-3]-/.test(key)) world.store.objects.delete(key);
  }
  await world.feed.purgeBelow(world.feed.messages[2]?.sequence ?? 0);
  const reader = await start(world);
  expect(await readAll(reader.dataset)).toEqual(await readAll(leader.dataset));
});

test('behavior: after a stream was created again, a writer continues after the last sealed block', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  await (await leader.keeper()).advance();
  const fresh = { store: world.store, feed: new MemoryFeed() };
  await expect(startMember(fresh, new SimFs(), false)).rejects.toMatchObject({
    code: 'feed-reset',
  });
  const next = await startLeader(fresh);
  expect(next.dataset.snapshot().head).toEqual(refAt(17));
  await next.dataset.commit([{ kind: 'extend', blocks: runOf(18, 19) }]);
  const reader = await startMember(fresh, new SimFs(), false);
  members.push(reader);
  expect(stateOf(reader.dataset)).toEqual(stateOf(next.dataset));
});

test('behavior: while the feed does not respond, a reader raises an alarm and serves queries, and later it continues by itself', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const reader = await start(world);
  const stop = new AbortController();
  const following = reader.replica.follow(stop.signal);
  world.feed.isDown = true;
  await vi.waitUntil(() => reader.dataset.alarms.has('feed-unreachable'), { timeout: 5_000 });
  expect(await readAll(reader.dataset)).toEqual(await readAll(leader.dataset));
  expect(reader.replica.behindMs).toBeGreaterThan(0);
  world.feed.isDown = false;
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  await vi.waitUntil(() => reader.dataset.snapshot().head?.number === 23, { timeout: 5_000 });
  await vi.waitUntil(() => !reader.dataset.alarms.has('feed-unreachable'), { timeout: 5_000 });
  stop.abort();
  await following;
});

test('error: feed-gap: a copy that cannot apply a message must be recreated', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const reader = await start(world);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(24, 24, 1, 19) }]);
  const [before, last] = world.feed.messages.slice(-2);
  if (before === undefined || last === undefined) throw new Error('no messages');
  world.feed.messages.splice(-2, 2, { ...before, bytes: last.bytes }, last);
  await expect(reader.replica.follow(never)).rejects.toMatchObject({ code: 'feed-gap' });
});

test('limit: a full local disk ends the attempt to lead, and delays a follower until there is space', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const fs = new SimFs();
  const full = await start(world, fs);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  fs.fault = ({ name }) => (name === 'write' ? 'ENOSPC' : undefined);
  await expect(full.replica.catchUp(never)).rejects.toMatchObject({ code: 'dataset-write-failed' });
  const stop = new AbortController();
  const following = full.replica.follow(stop.signal);
  fs.fault = () => undefined;
  await vi.waitUntil(() => full.dataset.snapshot().head?.number === 23, { timeout: 5_000 });
  stop.abort();
  await following;
});

test('error: feed-message-damaged: a changed bit is detected anywhere in a message, also in a digit of its head', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  const bytes = world.feed.messages.at(-1)?.bytes ?? new Uint8Array(0);
  const load = async () => new Uint8Array(0);
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));
    await expect(decodeMessage(changed, load)).rejects.toMatchObject({
      code: 'feed-message-damaged',
    });
  }
  // A message of an earlier program has no checksum at its end.
  const { blocks } = await decodeMessage(bytes.subarray(0, -4), load);
  expect(blocks).toHaveLength(1);
});

test('error: feed-message-damaged: a message with changed bytes is not applied', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  const reader = await start(world);
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  const message = world.feed.messages.at(-1);
  if (message === undefined) throw new Error('no message');
  const at = message.bytes.length - 10;
  for (const position of [0, at]) {
    message.bytes[position] = (message.bytes[position] as number) ^ 0x5a;
    const applying = reader.replica.catchUp(never);
    await expect(applying).rejects.toMatchObject({ code: 'feed-message-damaged' });
    expect(reader.dataset.snapshot().head).toEqual(refAt(22, 1));
    message.bytes[position] = (message.bytes[position] as number) ^ 0x5a;
  }
  await reader.replica.catchUp(never);
  expect(reader.dataset.snapshot().head).toEqual(refAt(23, 1));
});
