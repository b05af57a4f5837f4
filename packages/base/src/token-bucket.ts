import type { Clock } from './clock.ts';

/** The rate of a bucket, and how many tokens it holds at most. */
export interface BucketRate {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * A token bucket. The rate is given with each call, because limits can change while a service runs. A negative number of tokens is a
 * queue: each caller waits for the tokens that it has already taken.
 */
export class TokenBucket {
  readonly #clock: Clock;
  #tokens: number;
  #filledMs: number;

  constructor(tokens: number, clock: Clock) {
    this.#clock = clock;
    this.#tokens = tokens;
    this.#filledMs = clock.nowMs();
  }

  /** Takes a token if there is one. Returns whether it did. */
  tryTake(rate: BucketRate): boolean {
    this.#fill(rate);
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Takes tokens. Returns undefined if they were available, otherwise a promise that resolves when they are, or when the signal aborts. */
  take(count: number, rate: BucketRate, signal: AbortSignal): Promise<void> | undefined {
    this.#fill(rate);
    this.#tokens -= count;
    if (this.#tokens >= 0) return undefined;
    return this.#clock.sleep((-this.#tokens / rate.perSecond) * 1000, signal);
  }

  #fill({ perSecond, burst }: BucketRate): void {
    const nowMs = this.#clock.nowMs();
    const gained = ((nowMs - this.#filledMs) / 1000) * perSecond;
    this.#tokens = Math.min(burst, this.#tokens + gained);
    this.#filledMs = nowMs;
  }
}
