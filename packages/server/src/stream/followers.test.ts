import type { BlockRef } from '@sluice/ledger/block';
import { beforeEach, expect, test } from 'vitest';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { Followers } from './followers.ts';
import type { HeadNews } from './head-groups.ts';
import { SharedEvaluations } from './shared-evaluations.ts';
import { STREAM_LIMITS } from './stream-limits.ts';
import { ManualClock, settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';
import { ReferenceEvaluator } from './testing/reference-evaluator.ts';

let clock: ManualClock;
let dataset: MemoryDataset;
let followers: Followers;
beforeEach(() => {
  clock = new ManualClock();
  dataset = new MemoryDataset();
  dataset.extend([0, 1]);
  const evaluator = new ReferenceEvaluator({ dataset, decodeSegment: dataset.decodeSegment });
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, evaluator);
  const limits = { ...STREAM_LIMITS, wakeSliceCount: 3 };
  followers = new Followers(limits, { dataset, clock, shared });
});

interface Waiting {
  readonly stop: AbortController;
  isOver: boolean;
}

/** Waits from the newest version, or from the one given. */
function wait(options: { deadlineMs?: number; version?: number; stop?: AbortController } = {}) {
  const { deadlineMs = 1_000, version = dataset.snapshot().version } = options;
  const waiting: Waiting = { stop: options.stop ?? new AbortController(), isOver: false };
  void followers.wait({ version, deadlineMs, signal: waiting.stop.signal }).then(() => {
    waiting.isOver = true;
  });
  return waiting;
}

async function isOver(waiting: Waiting): Promise<boolean> {
  await settle();
  return waiting.isOver;
}

/** Runs the loop that wakes waiters. Returns the function that ends it. */
function run(): () => Promise<void> {
  const stop = new AbortController();
  const running = followers.run(stop.signal);
  return () => {
    stop.abort();
    return running;
  };
}

test('default: a waiter is woken by a newer version, and counted until then', async () => {
  const end = run();
  const waiting = wait();
  expect([await isOver(waiting), followers.count]).toEqual([false, 1]);
  dataset.extend([2]);
  expect([await isOver(waiting), followers.count]).toEqual([true, 0]);
  await end();
});

test('behavior: nothing waits with an aborted signal, for a known version, or after its deadline', async () => {
  const aborted = new AbortController();
  aborted.abort();
  await clock.advance(50);
  const settled = [
    wait({ stop: aborted }),
    wait({ version: dataset.snapshot().version - 1 }),
    wait({ deadlineMs: 50 }),
  ];
  expect(followers.count).toBe(0);
  for (const waiting of settled) expect(await isOver(waiting)).toBe(true);
  expect([await isOver(wait({ deadlineMs: 51 })), followers.count]).toEqual([false, 1]);
});

test('behavior: an abort ends a wait, and a signal can wait again after each one', async () => {
  const end = run();
  const stop = new AbortController();
  const first = wait({ stop });
  dataset.extend([2]);
  expect(await isOver(first)).toBe(true);
  const second = wait({ stop });
  expect(await isOver(second)).toBe(false);
  stop.abort();
  expect([await isOver(second), followers.count]).toEqual([true, 0]);
  await end();
});

test('behavior: an abort between two waits has no effect', async () => {
  const end = run();
  const waiting = wait();
  dataset.extend([2]);
  expect(await isOver(waiting)).toBe(true);
  waiting.stop.abort();
  await settle();
  expect(followers.count).toBe(0);
  await end();
});

test('behavior: a second wait with the same signal is a bug', () => {
  const { stop } = wait();
  const options = { version: dataset.snapshot().version, deadlineMs: 9, signal: stop.signal };
  expect(() => followers.wait(options)).toThrow('at most one waiter');
});

test('behavior: deadlines are checked with each tick, and a deadline at a tick has passed', async () => {
  const end = run();
  const { tickMs } = STREAM_LIMITS;
  const atTick = wait({ deadlineMs: 2 * tickMs });
  const after = wait({ deadlineMs: 2 * tickMs + 1 });
  await clock.advance(2 * tickMs - 1);
  expect([atTick.isOver, after.isOver]).toEqual([false, false]);
  await clock.advance(1);
  expect([atTick.isOver, after.isOver]).toEqual([true, false]);
  await clock.advance(tickMs);
  expect(after.isOver).toBe(true);
  await end();
});

test('limit: waiters are woken in slices, one for each turn of the event loop', async () => {
  const end = run();
  await settle();
  const all = Array.from({ length: 7 }, () => wait());
  const counts: number[] = [];
  dataset.extend([2]);
  for (let turn = 0; turn < 4; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(all.filter((waiting) => waiting.isOver).length);
  }
  const steps = counts.map((count, i) => count - (counts[i - 1] ?? 0));
  expect(Math.max(...steps)).toBe(3);
  await settle();
  expect(all.every((waiting) => waiting.isOver)).toBe(true);
  await end();
});

test('behavior: a second loop at the same time is a bug; after the first has ended it is not', async () => {
  const end = run();
  await expect(followers.run(new AbortController().signal)).rejects.toThrow('one loop');
  await end();
  await run()();
});

test('behavior: a stream at the head takes new blocks and moves its deadline, until it declines', async () => {
  const end = run();
  const taken: HeadNews[] = [];
  let answer: number | null = 5_000;
  let over = false;
  const covered = dataset.snapshot().head as BlockRef;
  const selection = parseTestQuery({ fromBlock: 0, includeAllBlocks: true });
  const position = { selection, finalizedOnly: false, covered, next: 2, isDeflated: false };
  const take = (news: HeadNews) => {
    taken.push(news);
    return answer;
  };
  void followers
    .wait({
      version: dataset.snapshot().version,
      deadlineMs: 1_000,
      signal: new AbortController().signal,
      atHead: { position, take },
    })
    .then(() => {
      over = true;
    });
  dataset.extend([2]);
  await settle();
  expect(taken.map(({ last }) => last)).toEqual([2]);
  await clock.advance(4_000);
  expect(over).toBe(false);
  answer = null;
  dataset.extend([3]);
  await settle();
  expect([taken.length, over, followers.count]).toEqual([2, true, 0]);
  dataset.extend([4]);
  await settle();
  expect(taken).toHaveLength(2);
  await end();
});
