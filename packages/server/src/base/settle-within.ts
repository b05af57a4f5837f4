import type { Clock } from './clock.ts';

/** The values that are there after `ms` at the latest, in the order of the promises; `undefined` for those that are not. */
export async function settleWithin<Value>(
  promises: readonly Promise<Value>[],
  ms: number,
  clock: Clock,
): Promise<(Value | undefined)[]> {
  const values: (Value | undefined)[] = promises.map(() => undefined);
  const all = Promise.all(
    promises.map(async (promise, i) => {
      values[i] = await promise;
    }),
  );
  const done = new AbortController();
  const deadline = clock.sleep(ms, done.signal);
  try {
    await Promise.race([all, deadline]);
  } finally {
    done.abort();
    all.catch(() => undefined); // Whoever is late has nobody left to tell.
  }
  return [...values];
}
