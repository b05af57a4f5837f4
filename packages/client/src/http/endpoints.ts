/** The base URLs of one dataset: replicas with the same chain. One is used until it fails. */
import type { OnEvent } from '../base/client-events.ts';
import type { Clock } from '../base/clock.ts';
import { SluiceError } from '../base/sluice-error.ts';
import { type Random, type RetryLimits, retryWaitMs } from './retry-wait.ts';

export class Endpoints {
  readonly urls: readonly string[];
  readonly #onEvent: OnEvent;
  #index = 0;
  /** Base URLs of services that refuse to send the finalized head in every header. */
  readonly withoutFinalizedHead = new Set<string>();

  constructor(urls: readonly string[], onEvent: OnEvent) {
    this.urls = urls;
    this.#onEvent = onEvent;
  }

  get current(): string {
    return this.urls[this.#index] as string;
  }

  /** Changes to the next replica, unless another request has already changed it. */
  leave(url: string): void {
    if (this.urls.length === 1 || this.current !== url) return;
    this.#index = (this.#index + 1) % this.urls.length;
    this.#onEvent({ kind: 'failover', from: url, to: this.current });
  }
}

export interface RetryOptions extends RetryLimits {
  /** The number of failures in a row, without progress between them, after which the error is thrown. */
  readonly attemptsMax: number;
}

export interface AttemptDependencies {
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  readonly random: Random;
  readonly onEvent: OnEvent;
}

/** After this many malformed responses further retries would not help. */
const malformedCountMax = 5;

/** Counts failures since the last progress, and decides whether, where and when to retry. */
export class Attempts {
  readonly #options: RetryOptions;
  readonly #dependencies: AttemptDependencies;
  #failureCount = 0;
  #malformedCount = 0;
  /** Base URLs with an error that no retry can resolve. */
  readonly #refusing = new Set<string>();

  constructor(options: RetryOptions, dependencies: AttemptDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  progressed(): void {
    this.#failureCount = 0;
    this.#malformedCount = 0;
    this.#refusing.clear();
  }

  /** Resolves when the request can be sent again. Throws if a retry would not help. */
  async failed(url: string, error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!(error instanceof SluiceError)) throw error;
    const { endpoints, clock, random, onEvent } = this.#dependencies;
    const attempt = ++this.#failureCount;
    this.#judge(url, error, attempt);
    endpoints.leave(url);
    // Another replica is tried immediately. The delay comes after all of them have failed.
    const isRound = attempt % endpoints.urls.length === 0;
    const round = Math.ceil(attempt / endpoints.urls.length);
    const { retryAfterMs } = error;
    const waitMs = isRound ? retryWaitMs(round, this.#options, { random, retryAfterMs }) : 0;
    onEvent({ kind: 'retry', url, error, attempt, waitMs });
    await clock.sleep(waitMs, signal);
    signal.throwIfAborted();
  }

  #judge(url: string, error: SluiceError, attempt: number): void {
    if (!error.retryable) {
      this.#refusing.add(url);
      if (this.#refusing.size >= this.#dependencies.endpoints.urls.length) throw error;
    }
    if (error.code === 'response-malformed') {
      this.#malformedCount++;
      if (this.#malformedCount >= malformedCountMax * this.#dependencies.endpoints.urls.length)
        throw error;
    }
    if (attempt >= this.#options.attemptsMax) throw error;
  }
}
