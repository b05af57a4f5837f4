import type { Clock } from './clock.ts';

/** A number in [0, 1), for the jitter. */
export type Random = () => number;

export const systemRandom: Random = () => {
  const [value = 0] = crypto.getRandomValues(new Uint32Array(1));
  return value / 2 ** 32;
};

export interface RetryLimits {
  /** The wait before the first retry; it doubles with each. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A service that asks for a longer wait is asked again after this one. */
const retryAfterMsMax = 300_000;

/**
 * Returns how long to wait before a retry, the first being 1: between half and all of a time that doubles, so that clients
 * that failed together do not come back together. A wait that the service asked for is the least.
 */
export function retryWaitMs(
  attempt: number,
  limits: RetryLimits,
  context: { readonly random: Random; readonly retryAfterMs: number | undefined },
): number {
  const ceiling = Math.min(limits.maxMs, limits.firstMs * 2 ** Math.min(attempt - 1, 30));
  const waitMs = ceiling * (0.5 + context.random() / 2);
  const askedMs = Math.min(context.retryAfterMs ?? 0, retryAfterMsMax);
  return Math.ceil(askedMs > 0 ? askedMs + waitMs * 0.1 : waitMs);
}

/** Returns the milliseconds of a `Retry-After` header, which holds seconds or a date. */
export function parseRetryAfter(text: string | null, clock: Clock): number | undefined {
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1000;
  const unixMs = Date.parse(text);
  return Number.isNaN(unixMs) ? undefined : Math.max(0, unixMs - clock.unixMs());
}
