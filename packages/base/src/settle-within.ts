import type { Clock } from './clock.ts';

/**
 * Resolves after `ms` at the latest with the values in the order of the promises, and `undefined` for each promise that
 * has not resolved by then. Rejects if one of them rejects before.
 */
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
    all.catch(() => undefined); // A rejection after the deadline has no consumer any more.
  }
  return [...values];
}
