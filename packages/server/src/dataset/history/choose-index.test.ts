import { expect, test } from 'vitest';
import { type ChainSnapshot, emptySnapshot, type IndexRun } from '../../chain/chain-snapshot.ts';
import { makeRun, noLists, sealRun, slot } from '../../chain/testing/chain-fixtures.ts';
import {
  chooseIndex,
  type IndexLimits,
  indexCountMax,
  indexCountMaxMerging,
} from './choose-index.ts';

const limits: IndexLimits = { spareBytes: 20_000_000, busy: [] };

function runOf(first: number, count: number): IndexRun {
  const shape = { pageCount: 1, partCount: count, keyCount: count, listBytes: 0, numberBytes: 0 };
  return { id: `${first}`, first, last: first + count - 1, byteLength: count * 1_000, ...shape };
}

async function chooseRuns(
  indexes: readonly IndexRun[],
  given: Partial<IndexLimits> = {},
): Promise<readonly IndexRun[] | undefined> {
  const snapshot: ChainSnapshot = { ...emptySnapshot, indexes };
  return (await chooseIndex(snapshot, { ...limits, ...given }, noLists))?.runs;
}

test('limit: there are few indexes for any number of segments, and each key is written rarely', async () => {
  const total = 3_000;
  let indexes: readonly IndexRun[] = [];
  let written = 0;
  for (let first = 0; first < total; first++) {
    indexes = [...indexes, runOf(first, 1)];
    for (
      let runs = await chooseRuns(indexes);
      runs !== undefined;
      runs = await chooseRuns(indexes)
    ) {
      const count = runs.reduce((sum, { partCount }) => sum + partCount, 0);
      const merged = runOf(runs[0]?.first ?? -1, count);
      expect(merged.last).toBe(runs.at(-1)?.last);
      indexes = indexes.flatMap((run) =>
        run === runs[0] ? [merged] : runs.includes(run) ? [] : [run],
      );
      written += count;
    }
    expect(indexes.length).toBeLessThanOrEqual(indexCountMax);
  }
  expect(indexes.reduce((sum, { partCount }) => sum + partCount, 0)).toBe(total);
  expect(written / total).toBeLessThan(10);
});

test('behavior: indexes with slots between them are not merged', async () => {
  const apart = Array.from({ length: indexCountMax + 4 }, (_, i) => runOf(i * 10, 5));
  expect(await chooseRuns(apart)).toBeUndefined();
  const more = [...apart, runOf(apart.length * 10 - 5, 2)];
  expect(await chooseRuns(more)).toEqual(more.slice(-2));
});

test('limit: a merge of indexes needs twice their size of free space, and smaller ones are merged with less', async () => {
  const large = Array.from({ length: indexCountMax - 1 }, (_, i) => runOf(i * 100, 100));
  const small = [runOf(large.length * 100, 5), runOf(large.length * 100 + 5, 5)];
  expect(await chooseRuns([...large, ...small], { spareBytes: 20_000 })).toEqual(small);
  expect(await chooseRuns([...large, ...small], { spareBytes: 19_999 })).toBeUndefined();
  const equal = [...large, runOf(large.length * 100, 100), runOf(indexCountMax * 100, 100)];
  expect(await chooseRuns(equal, { spareBytes: 399_999 })).toBeUndefined();
  expect((await chooseRuns(equal, { spareBytes: 400_000 }))?.length).toBe(2);
  expect((await chooseRuns(equal, { spareBytes: 2_000_000 }))?.length).toBe(indexCountMax + 1);
});

test('limit: while indexes are merged, others are merged too, so that there are few', async () => {
  const busy = Array.from({ length: indexCountMax + 1 }, (_, i) => runOf(i * 100, 100));
  let indexes: readonly IndexRun[] = busy;
  for (let first = 700; first < 1_600; first++) {
    indexes = [...indexes, runOf(first, 1)];
    expect(indexes.length).toBeLessThanOrEqual(indexCountMaxMerging + 1);
    const runs = (await chooseRuns(indexes, { busy })) ?? [];
    if (runs.length === 0) continue;
    expect(busy.some(({ id }) => runs.some((run) => run.id === id))).toBe(false);
    const count = runs.reduce((sum, { partCount }) => sum + partCount, 0);
    const merged = runOf(runs[0]?.first ?? -1, count);
    indexes = indexes.flatMap((run) =>
      run === runs[0] ? [merged] : runs.includes(run) ? [] : [run],
    );
  }
});

test('limit: large segments at the end of the history are indexed as soon as there are more of them than one index covers', async () => {
  const blocks = makeRun('a', [1, 2, 3, 4], null);
  const segments = blocks.map((block) => ({ ...sealRun([block]), byteLength: 300 << 20 }));
  const choose = (count: number) => {
    const snapshot = { ...emptySnapshot, start: slot(1), segments: segments.slice(0, count) };
    return chooseIndex(snapshot, limits, noLists);
  };
  expect(await choose(1)).toBeUndefined();
  expect((await choose(4))?.segments.map(({ segment }) => segment)).toEqual(segments.slice(0, 3));
});
