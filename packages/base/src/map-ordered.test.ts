import { expect, test } from 'vitest';
import { mapOrdered } from './map-ordered.ts';

async function* count(last: number): AsyncGenerator<number> {
  for (let i = 1; i <= last; i++) yield i;
}

async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
}

test('default: results are yielded in the order of the items, regardless of how long each takes', async () => {
  const later = new Map<number, () => void>();
  const run = (item: number) =>
    new Promise<number>((resolve) => {
      later.set(item, () => resolve(item * 10));
      // Of every three calls the last one finishes first.
      if (later.size % 3 === 0) for (const done of [...later.values()].reverse()) done();
    });
  expect(await collect(mapOrdered([1, 2, 3, 4, 5, 6], () => 3, run))).toEqual([
    10, 20, 30, 40, 50, 60,
  ]);
});

test('limit: the number of calls in flight never exceeds the limit', async () => {
  let inFlight = 0;
  let most = 0;
  const run = async (item: number) => {
    most = Math.max(most, ++inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight--;
    return item;
  };
  expect(await collect(mapOrdered(count(20), () => 4, run))).toHaveLength(20);
  expect(most).toBe(4);
});

test('behavior: a rejection is thrown in the order of the items, and later rejections stay handled', async () => {
  const seen: number[] = [];
  const run = async (item: number) => {
    if (item >= 3) throw new RangeError(`item ${item}`);
    return item;
  };
  const failing = (async () => {
    for await (const value of mapOrdered(count(10), () => 8, run)) seen.push(value);
  })();
  await expect(failing).rejects.toThrow('item 3');
  expect(seen).toEqual([1, 2]);
});

test('behavior: when the iterator of items fails, the results of the earlier items are yielded first', async () => {
  let fail = () => {};
  const failed = new Promise<void>((resolve) => {
    fail = resolve;
  });
  async function* broken(): AsyncGenerator<number> {
    yield* count(5);
    fail();
    throw new RangeError('item 6 is cut');
  }
  const seen: number[] = [];
  // No call finishes before the iterator fails.
  const run = async (item: number) => {
    await failed;
    return item;
  };
  const failing = (async () => {
    for await (const value of mapOrdered(broken(), () => 8, run)) seen.push(value);
  })();
  await expect(failing).rejects.toThrow('item 6 is cut');
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});
