import type { Random } from './random.ts';

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait before attempt `attempt`, the first retry being 1: a random part of a time that doubles. Full jitter,
 * so that many who failed together do not come back together.
 */
export function backoffMs(attempt: number, options: BackoffOptions, random: Random): number {
  const exponent = Math.min(Math.max(attempt, 1) - 1, 30);
  const ceiling = Math.min(options.maxMs, options.firstMs * 2 ** exponent);
  return Math.ceil(random.unit() * ceiling);
}
