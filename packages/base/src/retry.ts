import type { Random } from './random.ts';

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Returns the delay before retry number `attempt`, counted from 1: exponential backoff with full jitter, so that
 * clients that failed together do not retry together.
 */
export function backoffMs(attempt: number, options: BackoffOptions, random: Random): number {
  const exponent = Math.min(Math.max(attempt, 1) - 1, 30);
  const ceiling = Math.min(options.maxMs, options.firstMs * 2 ** exponent);
  return Math.ceil(random.unit() * ceiling);
}
