import type { Clock } from '../base/clock.ts';

/** A number in [0, 1), for the jitter. */
export type Random = () => number;

export const systemRandom: Random = () => {
  const [value = 0] = crypto.getRandomValues(new Uint32Array(1));
  return value / 2 ** 32;
};

export interface RetryLimits {
  /** The delay before the first retry. It doubles with each retry. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The longest delay, even if the service requests a longer one. */
const retryAfterMsMax = 300_000;

/**
 * Returns the delay before a retry, counted from 1: between half and all of a time that doubles, so that clients that failed together do
 * not retry together. The delay is never shorter than the one that the service requests.
 */
export function retryWaitMs(
  attempt: number,
  limits: RetryLimits,
  context: { readonly random: Random; readonly retryAfterMs: number | undefined },
): number {
  const ceiling = Math.min(limits.maxMs, limits.firstMs * 2 ** Math.min(attempt - 1, 30));
  const waitMs = ceiling * (0.5 + context.random() / 2);
  const retryAfterMs = Math.min(context.retryAfterMs ?? 0, retryAfterMsMax);
  return Math.ceil(retryAfterMs > 0 ? retryAfterMs + waitMs * 0.1 : waitMs);
}

/** Returns the milliseconds of a `Retry-After` header, which has seconds or a date. */
export function parseRetryAfter(text: string | null, clock: Clock): number | undefined {
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1000;
  const unixMs = Date.parse(text);
  return Number.isNaN(unixMs) ? undefined : Math.max(0, unixMs - clock.unixMs());
}
