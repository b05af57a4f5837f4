import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { TokenBucket } from '@sluice/base/token-bucket';

export interface KeyLimits {
  readonly requestsPerSecond: number;
  /** The maximum number of requests that may be sent at once after a pause. */
  readonly requestBurst: number;
  readonly streamCountMax: number;
  /** The limit of all streams of the key together, after compression; `null` for no limit. */
  readonly bytesPerSecond: number | null;
}

export const KEY_LIMITS: KeyLimits = {
  requestsPerSecond: 50,
  requestBurst: 200,
  streamCountMax: 2_000,
  bytesPerSecond: null,
};

interface Budget {
  readonly requests: TokenBucket;
  readonly bytes: TokenBucket;
  streamCount: number;
}

/** The rate limits of each key, by id. There is one budget per key in the key file, which bounds their number. */
export class KeyBudgets {
  readonly #budgets = new Map<string, Budget>();
  readonly #limits: KeyLimits;
  readonly #clock: Clock;

  /** A reload of the configuration may change the values of `limits`. */
  constructor(limits: KeyLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  takeRequest(key: string): void {
    const { requestsPerSecond, requestBurst } = this.#limits;
    const rate = { perSecond: requestsPerSecond, burst: requestBurst };
    if (this.#budgetOf(key).requests.tryTake(rate)) return;
    throw new CodedError('key-limit-reached', { requestsPerSecond });
  }

  /**
   * Returns a promise that resolves when the bytes may be sent, or undefined if they may be sent at once: a follower then writes
   * without waiting. After a pause, the bytes of one second may be sent at once.
   */
  takeBytes(key: string, byteCount: number, signal: AbortSignal): Promise<void> | undefined {
    const { bytesPerSecond } = this.#limits;
    if (bytesPerSecond === null) return undefined;
    const rate = { perSecond: bytesPerSecond, burst: bytesPerSecond };
    return this.#budgetOf(key).bytes.take(byteCount, rate, signal);
  }

  /** Removes the budgets of keys that a reload removed. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const [id, { streamCount }] of this.#budgets) {
      if (!ids.has(id) && streamCount === 0) this.#budgets.delete(id);
    }
  }

  /** Throws if the key has too many streams. Called before the body is read, so that 429 comes before 413 and 400. */
  checkStreams(key: string): void {
    const { streamCountMax } = this.#limits;
    if (this.#budgetOf(key).streamCount >= streamCountMax) {
      throw new CodedError('key-limit-reached', { streamCountMax });
    }
  }

  /** Counts a stream of the key. Returns the function that ends it. */
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
      const { requestBurst, bytesPerSecond } = this.#limits;
      budget = {
        requests: new TokenBucket(requestBurst, this.#clock),
        bytes: new TokenBucket(bytesPerSecond ?? 0, this.#clock),
        streamCount: 0,
      };
      this.#budgets.set(key, budget);
    }
    return budget;
  }
}
