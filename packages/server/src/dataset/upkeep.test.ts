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

/** Upkeep of indexes whose merges end when the test lets them. */
function upkeepOfIndexes() {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const shape = { pageCount: 1, partCount: 1, keyCount: 1, listBytes: 0, numberBytes: 0 };
  let indexes: IndexRun[] = Array.from({ length: 7 }, (_, i) => ({
    ...shape,
    id: `old-${i}`,
    first: i * 10,
    last: i * 10 + 9,
    byteLength: 1_000,
  }));
  const merges: { readonly count: number; readonly end: (error?: Error) => void }[] = [];
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
        indexes = [...indexes.filter((index) => !isReplaced(index)), { ...run, id }];
        indexes.sort((a, b) => a.first - b.first);
      },
    },
    segments: {
      makeIndex: ({ runs }: IndexInputs) =>
        new Promise((resolve, reject) => {
          const end = (error?: Error) => (error === undefined ? resolve(shape) : reject(error));
          merges.push({ count: runs.length, end });
        }),
    },
    acquire: () => ({ snapshot: { ...emptySnapshot, indexes }, release: () => undefined }),
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

test('behavior: other work goes on beside a long merge of indexes, and a failed one is repeated', async () => {
  const { upkeep, merges, log, alarms, clock, add, ids } = upkeepOfIndexes();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  upkeep.start();
  await settle();
  expect(merges.map(({ count }) => count)).toEqual([7]);
  const before = log.length;
  for (const first of [70, 80, 90]) add(first);
  upkeep.start();
  await settle();
  expect(log.length).toBeGreaterThan(before);
  // The new ones are merged with each other, and not with those that are being merged.
  expect(merges.map(({ count }) => count)).toEqual([7, 3]);
  merges[1]?.end();
  await settle();
  expect(ids()).toHaveLength(8);
  merges[0]?.end(new CodedError('store-unreachable', {}));
  await settle();
  expect(alarms.list()).toMatchObject([{ code: 'dataset-upkeep-failed' }]);
  await clock.advance(30_000);
  await settle();
  expect(merges).toHaveLength(3);
  // The alarm lasts until the repeated merge has succeeded.
  expect(alarms.list()).toMatchObject([{ code: 'dataset-upkeep-failed' }]);
  merges[2]?.end();
  await upkeep.done();
  expect(alarms.list()).toEqual([]);
  expect(ids().length).toBeLessThanOrEqual(6);
  await upkeep.close();
});
