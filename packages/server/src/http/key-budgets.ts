import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';

export interface KeyLimits {
  readonly requestsPerSecond: number;
  /** Requests that may come at once after a pause. */
  readonly requestBurst: number;
  readonly streamCountMax: number;
}

export const KEY_LIMITS: KeyLimits = {
  requestsPerSecond: 50,
  requestBurst: 200,
  streamCountMax: 2_000,
};

interface Budget {
  tokens: number;
  atMs: number;
  streamCount: number;
}

/** What each key has left. One budget a key of the file, so their number is bounded by it. */
export class KeyBudgets {
  readonly #budgets = new Map<string, Budget>();
  readonly #limits: KeyLimits;
  readonly #clock: Clock;

  constructor(limits: KeyLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  takeRequest(key: string): void {
    const { requestsPerSecond, requestBurst } = this.#limits;
    const budget = this.#budgetOf(key);
    const nowMs = this.#clock.nowMs();
    const earned = ((nowMs - budget.atMs) / 1000) * requestsPerSecond;
    budget.tokens = Math.min(requestBurst, budget.tokens + earned);
    budget.atMs = nowMs;
    if (budget.tokens < 1) throw new CodedError('key-limit-reached', { requestsPerSecond });
    budget.tokens -= 1;
  }

  /** Before the body is read, which is where the interface has this refusal. */
  checkStreams(key: string): void {
    const { streamCountMax } = this.#limits;
    if (this.#budgetOf(key).streamCount >= streamCountMax) {
      throw new CodedError('key-limit-reached', { streamCountMax });
    }
  }

  /** Gives the place back when the answer is called. */
  takeStream(key: string): () => void {
    this.checkStreams(key);
    const budget = this.#budgetOf(key);
    budget.streamCount += 1;
    return () => {
      budget.streamCount -= 1;
    };
  }

  #budgetOf(key: string): Budget {
    let budget = this.#budgets.get(key);
    if (budget === undefined) {
      budget = { tokens: this.#limits.requestBurst, atMs: this.#clock.nowMs(), streamCount: 0 };
      this.#budgets.set(key, budget);
    }
    return budget;
  }
}
