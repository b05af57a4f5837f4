/**
 * Runs `run` on the items with a few of them under way at once and yields the results in the items' order. `limit` is
 * asked before each start, so that it can follow how large results turn out to be. Whoever stops early, or meets a
 * rejection, leaves nothing unhandled behind.
 */
export async function* mapOrdered<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: () => number,
  run: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const iterator =
    Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const underWay: Promise<Result>[] = [];
  let isDone = false;
  try {
    for (;;) {
      while (!isDone && underWay.length < Math.max(1, limit())) {
        const next = await iterator.next();
        isDone = next.done === true;
        if (next.done === true) break;
        const result = run(next.value);
        result.catch(() => undefined); // Met when its turn comes, or never if an earlier one ended it all.
        underWay.push(result);
      }
      const first = underWay.shift();
      if (first === undefined) return;
      yield await first;
    }
  } finally {
    await iterator.return?.();
  }
}
