import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { emptySnapshot, type IndexRun } from '../chain/chain-snapshot.ts';
import { AlarmBoard } from './alarm-board.ts';
import type { IndexInputs } from './history/index-thread.ts';
import { Upkeep, type UpkeepDependencies } from './upkeep.ts';

function upkeepWith(list: () => Promise<boolean>) {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const acquire = () => ({ snapshot: emptySnapshot, release: () => undefined });
  const dependencies = {
    sealer: { list, merge: async () => false },
    acquire,
    removeUnused: async () => true,
    makeIndex: undefined,
    alarms,
    clock,
  } as unknown as UpkeepDependencies;
  return { upkeep: new Upkeep(dependencies), clock, alarms };
}

test('behavior: failed work is repeated, also if no segment is added, and its alarm ends', async () => {
  const outcomes = ['fails', 'fails', 'succeeds'];
  const { upkeep, clock, alarms } = upkeepWith(async () => {
    if (outcomes.shift() === 'fails') throw new CodedError('storage-failed', {});
    return false;
  });
  upkeep.start();
  await upkeep.done();
  // A segment is added while the work waits to be repeated.
  upkeep.start();
  await upkeep.done();
  expect(alarms.list()).toMatchObject([{ code: 'dataset-upkeep-failed' }]);
  await clock.advance(29_000);
  expect(outcomes).toHaveLength(1);
  await clock.advance(1_000);
  await upkeep.done();
  expect([outcomes, alarms.list()]).toEqual([[], []]);
  await clock.advance(100_000);
  await upkeep.close();
});

test('behavior: a process that no longer writes the dataset leaves the work to its successor', async () => {
  const causes: ('feed-unreachable' | 'feed-fenced')[] = ['feed-unreachable', 'feed-fenced'];
  const { upkeep, clock, alarms } = upkeepWith(async () => {
    const code = causes.shift();
    if (code === undefined) return false;
    throw new CodedError('dataset-write-failed', {}, { cause: new CodedError(code, {}) });
  });
  upkeep.start();
  await upkeep.done();
  expect(alarms.list()).toMatchObject([{ code: 'dataset-upkeep-failed' }]);
  await clock.advance(30_000);
  await upkeep.done();
  expect([causes, alarms.list()]).toEqual([[], []]);
  causes.push('feed-fenced');
  await clock.advance(100_000);
  expect(causes).toHaveLength(1);
  await upkeep.close();
});

interface Merge {
  readonly count: number;
  readonly end: (error?: Error) => void;
  readonly signal: AbortSignal;
}

/** Makes an upkeep with seven indexes. The test decides when a merge of indexes ends. */
function upkeepOfIndexes() {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const shape = { pageCount: 1, partCount: 1, keyCount: 1, listBytes: 0, numberBytes: 0 };
  const indexes: IndexRun[] = Array.from({ length: 7 }, (_, i) => ({
    ...shape,
    id: `old-${i}`,
    first: i * 10,
    last: i * 10 + 9,
    byteLength: 1_000,
  }));
  const merges: Merge[] = [];
  const log: string[] = [];
  const dependencies = {
    sealer: {
      list: async () => false,
      merge: async () => {
        log.push('merge');
        return false;
      },
      addIndex: async (id: string, _inputs: readonly string[], make: () => Promise<IndexRun>) => {
        const run = await make();
        const isReplaced = ({ first, last }: IndexRun) => first >= run.first && last <= run.last;
        const kept = indexes.filter((index) => !isReplaced(index));
        indexes.splice(0, indexes.length, ...kept, { ...run, id });
        indexes.sort((a, b) => a.first - b.first);
      },
    },
    segments: {
      makeIndex: ({ runs }: IndexInputs, _make: unknown, signal: AbortSignal) =>
        new Promise((resolve, reject) => {
          const end = (error?: Error) => (error === undefined ? resolve(shape) : reject(error));
          merges.push({ count: runs.length, end, signal });
        }),
    },
    acquire: () => ({
      snapshot: { ...emptySnapshot, indexes: [...indexes] },
      release: () => undefined,
    }),
    readList: async () => [],
    removeUnused: async () => true,
    makeIndex: async () => shape,
    spareBytes: async () => 1_000_000_000,
    longMergeBytes: 5_000,
    alarms,
    clock,
  } as unknown as UpkeepDependencies;
  const add = (first: number) =>
    indexes.push({ ...shape, id: `new-${first}`, first, last: first + 9, byteLength: 100 });
  return { upkeep: new Upkeep(dependencies), merges, log, alarms, clock, add, ids: () => indexes };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const unreachable = () => new CodedError('store-unreachable', {});

test('behavior: other work goes on beside a long merge of indexes', async () => {
  const { upkeep, merges, log, add, ids } = upkeepOfIndexes();
  upkeep.start();
  await settle();
  expect(merges.map(({ count }) => count)).toEqual([7]);
  const before = log.length;
  for (const first of [70, 80, 90]) add(first);
  upkeep.start();
  // Callers that wait for other work do not wait for the long merge.
  const settled = upkeep.settled();
  await settle();
  expect(log.length).toBeGreaterThan(before);
  // The new ones are merged with each other, and not with those that are being merged.
  expect(merges.map(({ count }) => count)).toEqual([7, 3]);
  merges[1]?.end();
  await settled;
  expect(ids()).toHaveLength(8);
  merges[0]?.end();
  await upkeep.done();
  expect(ids().length).toBeLessThanOrEqual(6);
  await upkeep.close();
});

test('behavior: a failed long merge is repeated later and later, and its alarm lasts until then', async () => {
  const { upkeep, merges, alarms, clock, ids } = upkeepOfIndexes();
  upkeep.start();
  await settle();
  for (const waitMs of [30_000, 60_000, 120_000]) {
    const { length } = merges;
    merges.at(-1)?.end(unreachable());
    await settle();
    upkeep.start();
    await settle();
    await clock.advance(waitMs - 1);
    await settle();
    expect([merges.length, alarms.list().length]).toEqual([length, 1]);
    await clock.advance(1);
    await settle();
    expect([merges.length, alarms.list().length]).toEqual([length + 1, 1]);
  }
  merges.at(-1)?.end();
  await upkeep.done();
  expect([alarms.list(), ids().length]).toEqual([[], 1]);
  await upkeep.close();
});

test('behavior: the alarm of a failed long merge ends if none is due any more', async () => {
  const { upkeep, merges, alarms, clock, ids } = upkeepOfIndexes();
  upkeep.start();
  await settle();
  merges[0]?.end(unreachable());
  await settle();
  expect(alarms.list()).toHaveLength(1);
  ids().splice(0, 3);
  await clock.advance(30_000);
  await upkeep.done();
  expect([merges.length, alarms.list()]).toEqual([1, []]);
  await upkeep.close();
});

test('behavior: a long merge whose inputs another writer has merged is no failure', async () => {
  const { upkeep, merges, alarms, clock, ids } = upkeepOfIndexes();
  upkeep.start();
  await settle();
  ids().splice(0, 7);
  merges[0]?.end(new CodedError('chain-segments-changed', { first: 0, last: 69 }));
  await upkeep.done();
  expect([merges.length, alarms.list()]).toEqual([1, []]);
  await clock.advance(100_000);
  await upkeep.close();
});

test('behavior: a long merge ends without an alarm when another process may write', async () => {
  const { upkeep, merges, alarms } = upkeepOfIndexes();
  upkeep.start();
  await settle();
  upkeep.rest();
  expect(merges[0]?.signal.aborted).toBe(true);
  merges[0]?.end(new CodedError('segment-merge-failed', {}));
  await settle();
  expect(alarms.list()).toEqual([]);
  // It begins again, if this process still writes.
  expect(merges[1]?.signal.aborted).toBe(false);
  merges[1]?.end();
  await upkeep.done();
  await upkeep.close();
});

test('behavior: a long merge of a process that may no longer write is not repeated', async () => {
  const { upkeep, merges, alarms } = upkeepOfIndexes();
  upkeep.start();
  await settle();
  merges[0]?.end(new CodedError('feed-fenced', {}));
  await settle();
  await settle();
  expect([merges.length, alarms.list()]).toEqual([1, []]);
  await upkeep.close();
});
