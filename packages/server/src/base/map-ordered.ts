/**
 * Runs `run` on the items with a few of them under way at once and yields the results in the items' order. `limit` is
 * asked before each start, so that it can follow how large results turn out to be. Whoever stops early, or meets a
 * rejection, leaves nothing unhandled behind.
 */
export async function* mapOrdered<Item, Result>(
  items: Iterable<Item>,
  limit: () => number,
  run: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const iterator = items[Symbol.iterator]();
  const underWay: Promise<Result>[] = [];
  let isDone = false;
  const start = () => {
    while (!isDone && underWay.length < Math.max(1, limit())) {
      const next = iterator.next();
      isDone = next.done === true;
      if (next.done === true) return;
      const result = run(next.value);
      result.catch(() => undefined); // Met when its turn comes, or never if an earlier one ended it all.
      underWay.push(result);
    }
  };
  for (start(); underWay.length > 0; start()) yield await (underWay.shift() as Promise<Result>);
}
