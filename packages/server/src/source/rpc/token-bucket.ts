import type { Clock } from '../../base/clock.ts';

/** Limits the average number of calls per second. A burst has at most the calls of one second. */
export class TokenBucket {
  readonly #perSecond: number | null;
  readonly #clock: Clock;
  #tokens: number;
  #filledMs: number;

  /** Null means no limit. */
  constructor(perSecond: number | null, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#tokens = Math.max(1, perSecond ?? 1);
    this.#filledMs = clock.nowMs();
  }

  /** Resolves when a call may be made, or when the signal aborts. */
  async take(signal: AbortSignal): Promise<void> {
    if (this.#perSecond === null) return;
    this.#fill(this.#perSecond);
    // A negative count is a queue: each caller waits for the token that it has already taken.
    this.#tokens--;
    if (this.#tokens >= 0) return;
    await this.#clock.sleep((-this.#tokens / this.#perSecond) * 1000, signal);
  }

  #fill(perSecond: number): void {
    const nowMs = this.#clock.nowMs();
    const gained = ((nowMs - this.#filledMs) / 1000) * perSecond;
    this.#tokens = Math.min(Math.max(1, perSecond), this.#tokens + gained);
    this.#filledMs = nowMs;
  }
}
