import type { Clock } from '../base/clock.ts';

export interface StallLimits {
  readonly stallMsMax: number;
  readonly stallCheckMs: number;
}

/** A write that waits for its reader. */
export interface WaitingWrite {
  /** Bytes that the system did not take yet. */
  unsent(): number;
  /** The reader took no byte for too long. */
  giveUp(): void;
}

interface Progress {
  unsent: number;
  atMs: number;
}

/** Looks at all writes that wait, now and then: a timer for each would cost more than the write. */
export class StallWatch {
  readonly #limits: StallLimits;
  readonly #clock: Clock;
  readonly #waiting = new Map<WaitingWrite, Progress>();
  #isLooking = false;

  /** The limits may change under way. */
  constructor(limits: StallLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  add(write: WaitingWrite): void {
    this.#waiting.set(write, { unsent: write.unsent(), atMs: this.#clock.nowMs() });
    if (!this.#isLooking) void this.#look();
  }

  remove(write: WaitingWrite): void {
    this.#waiting.delete(write);
  }

  /** As long as there are any. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#waiting.size > 0) {
      await this.#clock.sleep(this.#limits.stallCheckMs);
      for (const [write, progress] of this.#waiting) this.#judge(write, progress);
    }
    this.#isLooking = false;
  }

  #judge(write: WaitingWrite, progress: Progress): void {
    const nowMs = this.#clock.nowMs();
    const unsent = write.unsent();
    if (unsent !== progress.unsent) {
      progress.unsent = unsent;
      progress.atMs = nowMs;
    } else if (nowMs - progress.atMs >= this.#limits.stallMsMax) {
      this.#waiting.delete(write);
      write.giveUp();
    }
  }
}
