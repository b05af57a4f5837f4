import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import { TokenBucket } from '../base/token-bucket.ts';

export interface KeyLimits {
  readonly requestsPerSecond: number;
  /** Requests that may come at once after a pause. */
  readonly requestBurst: number;
  readonly streamCountMax: number;
  /** Of all streams of the key together, as the bytes go out; `null` for no limit. */
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

/** What each key has left, by its id. One budget a key of the file, so their number is bounded by it. */
export class KeyBudgets {
  readonly #budgets = new Map<string, Budget>();
  readonly #limits: KeyLimits;
  readonly #clock: Clock;

  /** The limits may change under way. */
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

  /** Slows a stream down to what its key may take; a second's worth may go at once after a pause. */
  async takeBytes(key: string, byteCount: number, signal: AbortSignal): Promise<void> {
    const { bytesPerSecond } = this.#limits;
    if (bytesPerSecond === null) return;
    const rate = { perSecond: bytesPerSecond, burst: bytesPerSecond };
    await this.#budgetOf(key).bytes.take(byteCount, rate, signal);
  }

  /** Keys that are gone are forgotten, so that reloads do not gather them. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const [id, { streamCount }] of this.#budgets) {
      if (!ids.has(id) && streamCount === 0) this.#budgets.delete(id);
    }
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
