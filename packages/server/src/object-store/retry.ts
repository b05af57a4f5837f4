import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';

export interface RetryLimits {
  readonly attemptCountMax: number;
  readonly firstWaitMs: number;
  readonly waitMsMax: number;
}

/** Six attempts, with waits of at most 3.1 s in total, because a client waits for the request. */
const RETRY_LIMITS: RetryLimits = {
  attemptCountMax: 6,
  firstWaitMs: 100,
  waitMsMax: 2_000,
};

/** A response or a connection failure that may not occur again at the next attempt. */
export class TransientFailure extends Error {
  override readonly name = 'TransientFailure';
}

export interface RetryDependencies {
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/**
 * Repeats an operation while it fails with `TransientFailure`, with exponential backoff and jitter, then throws
 * `store-unreachable`. All other errors pass through.
 */
export async function withRetries<Result>(
  operation: string,
  attempt: () => Promise<Result>,
  { clock, random }: RetryDependencies,
  limits: RetryLimits = RETRY_LIMITS,
): Promise<Result> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (isCodedError(error) || !(error instanceof TransientFailure)) throw error;
      if (count >= limits.attemptCountMax) {
        throw unreachable(operation, error);
      }
      const waitMs = Math.min(limits.waitMsMax, limits.firstWaitMs * 2 ** (count - 1));
      await clock.sleep(waitMs * (0.5 + random() / 2));
    }
  }
}

function unreachable(operation: string, cause: Error): CodedError {
  return new CodedError('store-unreachable', { operation, reason: cause.message }, { cause });
}
