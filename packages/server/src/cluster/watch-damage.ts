/**
 * What happens when a segment of a bucket cannot be read: the local copy is evicted, so that the next request fetches it
 * again, and the object in the store is verified as a whole. If it is right, the alarm ends.
 */
import type { Clock } from '../base/clock.ts';
import { isCodedError } from '../base/errors.ts';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { BucketSegments } from './bucket-segments.ts';

/** Before the next attempt to read a damaged segment from the store. It doubles, because each reads the whole segment. */
const retryMs = 10_000;
const retryMsMax = 600_000;
/** Damaged segments that are watched; more of them are a bucket that is broken as a whole. */
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
      this.#wake = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
