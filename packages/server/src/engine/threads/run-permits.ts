/**
 * Limits the number of active runs. A run holds memory in every thread until its reader has consumed it. Further runs wait in a queue.
 *
 * An inactive reader must not block a waiting run. Its run is cut after a short time, and the reader starts another run from where it
 * stopped, at the end of the queue.
 */
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';

export interface RunPermitsOptions {
  readonly countMax: number;
  /** How long a reader may be inactive while others wait. */
  readonly restMsMax: number;
}

export interface RunPermit {
  /** Marks the reader as inactive: it has received a piece and has not asked for the next one. */
  rest(): void;
  /** Marks the reader as active again. */
  resume(): void;
  /** Gives the permit to the next run in the queue. Further calls have no effect. */
  leave(): void;
}

interface Waiter {
  /** Called with an error if the run gets no permit. */
  readonly settle: (error?: CodedError) => void;
}

export class RunPermits {
  readonly #restMsMax: number;
  readonly #clock: Clock;
  /** The waiting runs, in order of arrival. The limit of open streams bounds their number. */
  readonly #waiting = new Set<Waiter>();
  /** The functions that cut runs with an inactive reader, and the time since when each is inactive, longest first. */
  readonly #resting = new Map<() => void, number>();
  #freeCount: number;
  readonly #closed = new AbortController();
  #isWatching = false;

  constructor({ countMax, restMsMax }: RunPermitsOptions, clock: Clock) {
    this.#clock = clock;
    this.#freeCount = countMax;
    this.#restMsMax = restMsMax;
  }

  /** Waits for a permit. `cut` is called when another run needs the permit. It must end the run and call `leave`. */
  async take(cut: () => void, signal?: AbortSignal): Promise<RunPermit> {
    if (this.#freeCount > 0) this.#freeCount--;
    else await this.#wait(signal);
    let isLeft = false;
    return {
      rest: () => {
        if (!isLeft) this.#resting.set(cut, this.#clock.nowMs());
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

  /** Rejects all waiting runs. */
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

  /** Cuts runs whose reader has been inactive for too long, as long as other runs wait. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.#waiting.size > 0) {
      this.#cutResting();
      await this.#clock.sleep(this.#restMsMax / 4, this.#closed.signal);
    }
    this.#isWatching = false;
  }

  #cutResting(): void {
    const restedBefore = this.#clock.nowMs() - this.#restMsMax;
    for (const [cut, sinceMs] of this.#resting) {
      if (this.#waiting.size === 0 || sinceMs > restedBefore) return;
      cut();
    }
  }
}
