import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import type { BuiltSegment } from './built-segment.ts';
import { type MergeWorkerData, SegmentMerger } from './segment-merger.ts';

/**
 * A sequence of segments, each with a buffer that the consumer takes over. A generator need not hold all of them in
 * memory.
 */
export type SegmentSequence = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** The thread ends after this idle time, to free its memory. */
const idleMs = 60_000;

/**
 * Merges segments in a worker thread, because a merge takes seconds. The thread is kept for the next merge: compiling
 * its code again took as long as merging.
 */
export class MergeThread {
  readonly speed: MergeWorkerData['speed'];
  readonly #clock: Clock;
  #merger: SegmentMerger | undefined;
  /** The most recent merge. Merges run one after another. */
  #last: Promise<unknown> = Promise.resolve();
  #idle = new AbortController();
  #isClosed = false;

  constructor(clock: Clock, { speed = 'low' }: Partial<MergeWorkerData> = {}) {
    this.#clock = clock;
    this.speed = speed;
  }

  merge(segments: SegmentSequence): Promise<BuiltSegment> {
    const merged = this.#last.then(() => this.#merge(segments));
    this.#last = merged.catch(() => undefined);
    return merged;
  }

  /** Ends the thread permanently. The running merge and all queued ones fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#idle.abort();
    const merger = this.#merger;
    this.#merger = undefined;
    await merger?.close();
  }

  async #merge(segments: SegmentSequence): Promise<BuiltSegment> {
    this.#checkOpen();
    this.#idle.abort();
    this.#merger ??= new SegmentMerger({ speed: this.speed });
    const merger = this.#merger;
    try {
      for await (const bytes of segments) {
        this.#checkOpen();
        const isWhole = bytes.byteLength === bytes.buffer.byteLength;
        await merger.append(isWhole ? bytes : new Uint8Array(bytes));
      }
      this.#checkOpen();
      const merged = await merger.finish();
      this.#endWhenIdle();
      return merged;
    } catch (error) {
      // A new thread is used after a failure, so that the partial segment does not become part of the next one.
      await this.#end();
      throw error;
    }
  }

  /** Throws after `close`. A thread started later would outlive the dataset and keep the process running. */
  #checkOpen(): void {
    if (this.#isClosed) throw new CodedError('dataset-closed');
  }

  #endWhenIdle(): void {
    this.#idle = new AbortController();
    const { signal } = this.#idle;
    void this.#clock.sleep(idleMs, signal).then(() => (signal.aborted ? undefined : this.#end()));
  }
}
