/**
 * Maps items concurrently and yields the results in the order of the items, each as soon as it is ready, even while the
 * next item is still awaited. `limit` returns how many calls may be in flight and is evaluated before each start, so
 * that it can depend on the size of earlier results. If the iterator of items fails, the results of the earlier items
 * are yielded first. No rejection is left unhandled when the consumer stops early or a call fails.
 */
export async function* mapOrdered<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: () => number,
  run: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const iterator =
    Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const inFlight: Promise<Result>[] = [];
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
      const first = inFlight[0];
      const isBelowLimit = !isDone && inFlight.length < Math.max(1, limit());
      if (isBelowLimit) reading ??= pull();
      if (first === undefined && reading === undefined) {
        if (failure !== undefined) throw failure.error;
        return;
      }
      if (
        reading !== undefined &&
        isBelowLimit &&
        (first === undefined || (await isSooner(reading, first)))
      ) {
        const next = await reading;
        reading = undefined;
        isDone = next.done === true;
        if (next.done === true) continue;
        const result = run(next.value);
        result.catch(() => undefined); // Handled when it is awaited below. This catch covers calls that are never awaited because an earlier one failed.
        inFlight.push(result);
      } else {
        inFlight.shift();
        yield await (first as Promise<Result>);
      }
    }
  } finally {
    await iterator.return?.();
  }
}

/** Resolves to whether the first promise settles before the second, or both have settled already. */
function isSooner(first: Promise<unknown>, second: Promise<unknown>): Promise<boolean> {
  const yes = () => true;
  const no = () => false;
  return Promise.race([first.then(yes, yes), second.then(no, no)]);
}
