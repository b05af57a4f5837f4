/**
 * The places in which runs are made. A run holds memory in every thread for as long as it lasts, and it lasts as long as its
 * reader takes, so there are only so many; who comes later waits in line.
 *
 * A reader that is elsewhere must not hold the place of one who waits: after a moment its run is cut, and it begins another
 * where it came to, at the end of the line.
 */
import { systemClock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';

export interface RunPlacesOptions {
  readonly countMax: number;
  /** How long a reader may be elsewhere while others wait. */
  readonly restMsMax: number;
}

export interface RunPlace {
  /** The reader has what it asked for, and may be long in coming back. */
  rest(): void;
  /** It is back. */
  resume(): void;
  /** Gives the place to the next in line; once is enough. */
  leave(): void;
}

interface Waiter {
  /** With an error, it gets no place. */
  readonly settle: (error?: CodedError) => void;
}

export class RunPlaces {
  readonly #restMsMax: number;
  /** In the order they came. Bounded by the streams that may be open. */
  readonly #waiting = new Set<Waiter>();
  /** What ends the runs whose reader is elsewhere, and since when it is; the longest first. */
  readonly #resting = new Map<() => void, number>();
  #freeCount: number;
  readonly #closed = new AbortController();
  #isWatching = false;

  constructor({ countMax, restMsMax }: RunPlacesOptions) {
    this.#freeCount = countMax;
    this.#restMsMax = restMsMax;
  }

  /** Waits for a place. `cut` is called when the place is needed by others: it must end the run and leave. */
  async take(cut: () => void, signal?: AbortSignal): Promise<RunPlace> {
    if (this.#freeCount > 0) this.#freeCount--;
    else await this.#wait(signal);
    let isLeft = false;
    return {
      rest: () => {
        if (!isLeft) this.#resting.set(cut, systemClock.nowMs());
      },
      resume: () => this.#resting.delete(cut),
      leave: () => {
        if (isLeft) return;
        isLeft = true;
        this.#resting.delete(cut);
        this.#passOn();
      },
    };
  }

  /** Nobody who waits gets a place any more. */
  close(): void {
    this.#closed.abort();
    for (const { settle } of this.#waiting) settle(new CodedError('engine-cancelled'));
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => waiter.settle(new CodedError('engine-cancelled'));
      const waiter: Waiter = {
        settle: (error) => {
          this.#waiting.delete(waiter);
          signal?.removeEventListener('abort', abort);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#waiting.add(waiter);
      signal?.addEventListener('abort', abort, { once: true });
      if (signal?.aborted === true) return abort();
      if (!this.#isWatching) void this.#watch();
    });
  }

  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#freeCount++;
    else next.settle();
  }

  /** As long as anybody waits, looks who has rested for too long. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.#waiting.size > 0) {
      this.#cutResting();
      await systemClock.sleep(this.#restMsMax / 4, this.#closed.signal);
    }
    this.#isWatching = false;
  }

  #cutResting(): void {
    const restedBefore = systemClock.nowMs() - this.#restMsMax;
    for (const [cut, sinceMs] of this.#resting) {
      if (this.#waiting.size === 0 || sinceMs > restedBefore) return;
      cut();
    }
  }
}
