import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import type { MadeSegment } from './made-segment.ts';
import { SegmentMerger } from './segment-merger.ts';

/** Segments one after another, handed over; whoever has many need not hold them all. */
export type SegmentRow = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Without work for so long, the thread ends and its memory is free. */
const idleMs = 60_000;

/**
 * One segment from many, in a thread of its own: a merge takes seconds. The thread stays for the next one, since compiling
 * its code anew took as long as merging.
 */
export class MergeThread {
  readonly #clock: Clock;
  #merger: SegmentMerger | undefined;
  /** The one asked for last; they take turns. */
  #last: Promise<unknown> = Promise.resolve();
  #idle = new AbortController();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  merge(segments: SegmentRow): Promise<MadeSegment> {
    const merged = this.#last.then(() => this.#merge(segments));
    this.#last = merged.catch(() => undefined);
    return merged;
  }

  /** For good: a merge under way fails, and so do those that wait for it. */
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

  async #merge(segments: SegmentRow): Promise<MadeSegment> {
    this.#checkOpen();
    this.#idle.abort();
    this.#merger ??= new SegmentMerger({ givesWay: true });
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
      // What the thread has begun must not become part of the next segment.
      await this.#end();
      throw error;
    }
  }

  /** A thread that is started later would outlive the dataset, and the process wait for it. */
  #checkOpen(): void {
    if (this.#isClosed) throw new CodedError('dataset-closed');
  }

  #endWhenIdle(): void {
    this.#idle = new AbortController();
    const { signal } = this.#idle;
    void this.#clock.sleep(idleMs, signal).then(() => (signal.aborted ? undefined : this.#end()));
  }
}
