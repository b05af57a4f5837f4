import { expect, test } from 'vitest';
import { type ChainSnapshot, emptySnapshot, type IndexRun } from '../../chain/chain-snapshot.ts';
import { makeRun, noLists, sealRun, slot } from '../../chain/testing/chain-fixtures.ts';
import { chooseIndex, indexCountMax } from './choose-index.ts';

const limits = { spareBytes: 20_000_000 };

function runOf(first: number, count: number): IndexRun {
  const shape = { pageCount: 1, partCount: count, keyCount: count, listBytes: 0, numberBytes: 0 };
  return { id: `${first}`, first, last: first + count - 1, byteLength: count * 1_000, ...shape };
}

async function chooseRuns(
  indexes: readonly IndexRun[],
  { spareBytes } = limits,
): Promise<readonly IndexRun[] | undefined> {
  const snapshot: ChainSnapshot = { ...emptySnapshot, indexes };
  return (await chooseIndex(snapshot, { spareBytes }, noLists))?.runs;
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

test('limit: a merge of indexes needs four times their size of free space, and smaller ones are merged with less', async () => {
  const large = Array.from({ length: indexCountMax - 1 }, (_, i) => runOf(i * 100, 100));
  const small = [runOf(large.length * 100, 5), runOf(large.length * 100 + 5, 5)];
  expect(await chooseRuns([...large, ...small], { spareBytes: 40_000 })).toEqual(small);
  expect(await chooseRuns([...large, ...small], { spareBytes: 39_999 })).toBeUndefined();
  const equal = [...large, runOf(large.length * 100, 100), runOf(indexCountMax * 100, 100)];
  expect(await chooseRuns(equal, { spareBytes: 799_999 })).toBeUndefined();
  expect((await chooseRuns(equal, { spareBytes: 800_000 }))?.length).toBe(2);
  expect((await chooseRuns(equal, { spareBytes: 4_000_000 }))?.length).toBe(indexCountMax + 1);
});

test('limit: large segments at the end of the history are indexed as soon as there are more of them than one index covers', async () => {
  const blocks = makeRun('a', [1, 2, 3, 4], null);
  const segments = blocks.map((block) => ({ ...sealRun([block]), byteLength: 300 << 20 }));
  const choose = (count: number) => {
    const snapshot = { ...emptySnapshot, start: slot(1), segments: segments.slice(0, count) };
    return chooseIndex(snapshot, limits, noLists);
  };
  expect(await choose(3)).toBeUndefined();
  expect((await choose(4))?.segments.map(({ segment }) => segment)).toEqual(segments.slice(0, 3));
});
