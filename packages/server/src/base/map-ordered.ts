/**
 * Runs `run` on the items with a few of them under way at once and yields the results in the items' order, each as soon
 * as it is there, also while the next item is still awaited. `limit` is asked before each start, so that it can follow
 * how large results turn out to be. Items that fail to come fail it after the results of those that did. Whoever stops
 * early, or meets a rejection, leaves nothing unhandled behind.
 */
export async function* mapOrdered<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: () => number,
  run: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const iterator =
    Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const underWay: Promise<Result>[] = [];
  let reading: Promise<IteratorResult<Item>> | undefined;
  let isDone = false;
  let failure: { readonly error: unknown } | undefined;
  const pull = async (): Promise<IteratorResult<Item>> => {
    try {
      return await iterator.next();
    } catch (error) {
      failure = { error };
      return { done: true, value: undefined };
    }
  };
  try {
    for (;;) {
      const first = underWay[0];
      const isRoom = !isDone && underWay.length < Math.max(1, limit());
      if (isRoom) reading ??= pull();
      if (first === undefined && reading === undefined) {
        if (failure !== undefined) throw failure.error;
        return;
      }
      if (
        reading !== undefined &&
        isRoom &&
        (first === undefined || (await isSooner(reading, first)))
      ) {
        const next = await reading;
        reading = undefined;
        isDone = next.done === true;
        if (next.done === true) continue;
        const result = run(next.value);
        result.catch(() => undefined); // Met when its turn comes, or never if an earlier one ended it all.
        underWay.push(result);
      } else {
        underWay.shift();
        yield await (first as Promise<Result>);
      }
    }
  } finally {
    await iterator.return?.();
  }
}

/** Whether the first settles before the second, or both have. */
function isSooner(first: Promise<unknown>, second: Promise<unknown>): Promise<boolean> {
  const yes = () => true;
  const no = () => false;
  return Promise.race([first.then(yes, yes), second.then(no, no)]);
}
