/**
 * Handles segments of a bucket that cannot be read. The local copy is evicted, so that the next request fetches it again, and the whole
 * object in the store is verified. If it is valid, the alarm is cleared.
 */
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { BucketSegments } from './bucket-segments.ts';

/** The delay before a damaged segment is read from the store again. It doubles, because each attempt reads the whole segment. */
const retryMs = 10_000;
const retryMsMax = 600_000;
/** The maximum number of damaged segments that are verified again. With more of them the whole bucket is broken. */
const watchedCountMax = 1_000;

export class DamageWatch {
  readonly #segments: BucketSegments;
  readonly #damaged = new Map<string, SealedSegment>();
  #wake: () => void = () => undefined;

  constructor(segments: BucketSegments) {
    this.#segments = segments;
  }

  report(segment: SealedSegment): void {
    this.#segments.evict(segment);
    if (this.#damaged.size < watchedCountMax) this.#damaged.set(segment.id, segment);
    this.#wake();
  }

  /** Verifies damaged segments until the signal aborts. */
  async run(dataset: Dataset, clock: Clock, signal: AbortSignal): Promise<void> {
    let waitMs = retryMs;
    while (!signal.aborted) {
      if (this.#damaged.size === 0) await this.#untilReported(signal);
      for (const segment of [...this.#damaged.values()]) {
        if (signal.aborted) return;
        await this.#repair(segment);
      }
      if (this.#damaged.size === 0) {
        dataset.alarms.clear('segment-damaged');
        waitMs = retryMs;
      } else {
        await clock.sleep(waitMs, signal);
        waitMs = Math.min(retryMsMax, waitMs * 2);
      }
    }
  }

  async #repair(segment: SealedSegment): Promise<void> {
    try {
      await this.#segments.repair(segment);
      this.#damaged.delete(segment.id);
    } catch (error) {
      if (!isCodedError(error)) throw error;
    }
  }

  #untilReported(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        signal.removeEventListener('abort', this.#wake);
        resolve();
      };
      signal.addEventListener('abort', this.#wake, { once: true });
    });
  }
}
