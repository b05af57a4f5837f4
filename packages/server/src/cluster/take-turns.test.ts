import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import { lastCommitsMsMax, takeTurns } from './take-turns.ts';
import { type Member, refAt, runOf, startMember, stateOf } from './testing/member.ts';
import { MemoryFeed } from './testing/memory-feed.ts';

/** Lets a member compete for the lease. Its work is to add blocks until its turn ends. */
function compete(
  { replica }: Member,
  name: string,
  feed: MemoryFeed,
  { stop, work }: { stop: AbortSignal; work: (turn: AbortSignal) => Promise<void> },
) {
  const dependencies = {
    replica,
    feed,
    clock: systemClock,
    work,
    onTurn: () => {},
    onFault: () => {},
  };
  return takeTurns(name, dependencies, stop);
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

test('default: one member writes and the others follow; when it stops, the next one continues from its last block', async () => {
  const world = { store: new MemoryStore(), feed: new MemoryFeed() };
  const [one, two] = [await startMember(world), await startMember(world)];
  const [stopOne, stopTwo] = [new AbortController(), new AbortController()];
  const first = compete(one, 'one', world.feed, {
    stop: stopOne.signal,
    work: async (turn) => {
      await one.dataset.commit([{ kind: 'create', anchor: refAt(9) }]);
      await one.dataset.commit([{ kind: 'extend', blocks: runOf(10, 12) }]);
      await untilAborted(turn);
    },
  });
  while (two.dataset.snapshot().head?.number !== 12) {
    await new Promise((resolve) => setImmediate(resolve));
    await two.replica.catchUp(stopTwo.signal);
  }
  const second = compete(two, 'two', world.feed, {
    stop: stopTwo.signal,
    work: async (turn) => {
      await two.dataset.commit([{ kind: 'extend', blocks: runOf(13, 14) }]);
      stopTwo.abort();
      await untilAborted(turn);
    },
  });
  stopOne.abort();
  await Promise.all([first, second]);
  await one.replica.catchUp(new AbortController().signal);
  expect(one.dataset.snapshot().head).toEqual(refAt(14));
  expect(stateOf(one.dataset)).toEqual(stateOf(two.dataset));
  await Promise.all([one.close(), two.close()]);
});

test('behavior: a process that cannot follow releases the lease', async () => {
  const world = { store: new MemoryStore(), feed: new MemoryFeed() };
  const [one, two] = [await startMember(world), await startMember(world)];
  const stop = new AbortController();
  const fault = new CodedError('disk-floor-reached', { freeBytes: 1, floorBytes: 2 });
  const follow = one.replica.follow.bind(one.replica);
  one.replica.follow = async (signal) => {
    await follow(signal);
    throw fault;
  };
  const faults: string[] = [];
  const first = takeTurns(
    'one',
    {
      replica: one.replica,
      feed: world.feed,
      clock: systemClock,
      work: untilAborted,
      onTurn: () => {},
      onFault: ({ code }) => faults.push(code),
    },
    stop.signal,
  );
  await compete(two, 'two', world.feed, {
    stop: stop.signal,
    work: async () => stop.abort(),
  });
  await first.catch(() => undefined);
  expect(faults[0]).toBe('disk-floor-reached');
  await Promise.all([one.close(), two.close()]);
});

test.each([
  { passedMs: lastCommitsMsMax - 1, last: 12 },
  { passedMs: lastCommitsMsMax, last: 10 },
])(
  'limit: a writer publishes to a slow feed for two seconds after its turn has ended, here up to $last',
  async ({ passedMs, last }) => {
    const world = { store: new MemoryStore(), feed: new MemoryFeed() };
    const one = await startMember(world);
    const clock = new ManualClock();
    const stop = new AbortController();
    const [waiting, opened] = [new AbortController(), new AbortController()];
    const publish = world.feed.publish.bind(world.feed);
    const work = async () => {
      const { dataset } = one;
      await dataset.commit([{ kind: 'create', anchor: refAt(9) }]);
      world.feed.publish = async (bytes, expectedSequence) => {
        waiting.abort();
        await untilAborted(opened.signal);
        return publish(bytes, expectedSequence);
      };
      const blocks = runOf(10, 12);
      // The first is being published while the others wait.
      const commits = blocks.map((block) => dataset.commit([{ kind: 'extend', blocks: [block] }]));
      await Promise.allSettled(commits);
    };
    const { replica } = one;
    const ignore = () => undefined;
    const dependencies = { replica, feed: world.feed, clock, work, onTurn: ignore };
    const ended = takeTurns('one', { ...dependencies, onFault: ignore }, stop.signal);
    await untilAborted(waiting.signal);
    stop.abort();
    clock.advance(passedMs);
    await new Promise((resolve) => setImmediate(resolve));
    opened.abort();
    await ended;
    expect(one.dataset.snapshot().head).toEqual(refAt(last));
    await replica.catchUp(new AbortController().signal);
    expect(one.dataset.snapshot().head).toEqual(refAt(last));
    await one.close();
  },
);
