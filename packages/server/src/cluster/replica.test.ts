import { afterEach, expect, test } from 'vitest';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import { type Member, readAll, refAt, runOf, startMember, stateOf } from './testing/member.ts';
import { MemoryFeed } from './testing/memory-feed.ts';

const members: Member[] = [];
afterEach(async () => {
  for (const member of members.splice(0)) await member.close();
});

async function start(world: { store: MemoryStore; feed: MemoryFeed }): Promise<Member> {
  const member = await startMember(world);
  members.push(member);
  return member;
}

const newWorld = (bytesMax?: number) => ({
  store: new MemoryStore(),
  feed: new MemoryFeed(bytesMax),
});
const never = new AbortController().signal;
const noFence = () => undefined;

async function startLeader(world: { store: MemoryStore; feed: MemoryFeed }): Promise<Member> {
  const member = await start(world);
  member.replica.lead(noFence);
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

test('behavior: a reader that starts from a manifest needs only the messages that the manifest names', async () => {
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

test('error: feed-fenced: a stale writer changes nothing, follows, and may lead again', async () => {
  const world = newWorld();
  const stale = await startLeader(world);
  await grow(stale);
  const next = await start(world);
  next.replica.lead(noFence);
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
  // Not even after the local journal works again.
  await stale.dataset.reopen();
  const again = stale.dataset.commit([{ kind: 'extend', blocks: rival }]);
  await expect(again).rejects.toMatchObject({ code: 'dataset-write-failed' });
  await stale.replica.catchUp(never);
  expect(stateOf(stale.dataset)).toEqual(stateOf(next.dataset));
  next.replica.unlead();
  stale.replica.lead(noFence);
  await stale.dataset.commit([{ kind: 'extend', blocks: runOf(24, 24, 1, 19) }]);
  await next.replica.catchUp(never);
  expect(stateOf(next.dataset)).toEqual(stateOf(stale.dataset));
});

test('behavior: a message whose acknowledgement was lost is found by following, and is not sent twice', async () => {
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

test('behavior: a block that does not fit a message goes through the store', async () => {
  const world = newWorld((128 << 10) + 100);
  const leader = await startLeader(world);
  await grow(leader);
  const keys = [...world.store.objects.keys()];
  expect(keys.some((key) => key.startsWith('ledger/blocks/10-'))).toBe(true);
  const reader = await start(world);
  expect(await readAll(reader.dataset)).toEqual(await readAll(leader.dataset));
});

test('behavior: confirm is true once everything is applied, and false while the feed is silent', async () => {
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
});

test('error: feed-full: blocks wait while sealing goes on', async () => {
  const world = newWorld();
  const leader = await startLeader(world);
  await grow(leader);
  world.feed.isNearlyFull = true;
  const extend = leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
  await expect(extend).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(leader.replica.isLeading).toBe(true);
  await leader.dataset.reopen();
  await leader.dataset.commit([{ kind: 'finalize', block: refAt(22, 1) }]);
  expect(await leader.dataset.seal()).toBe(true);
  world.feed.isNearlyFull = false;
  await leader.dataset.commit([{ kind: 'extend', blocks: runOf(23, 23, 1, 19) }]);
});
