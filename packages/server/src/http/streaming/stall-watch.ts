import type { Clock } from '@sluice/base/clock';

export interface StallLimits {
  readonly stallMsMax: number;
  readonly stallCheckMs: number;
}

/** A write that waits for its client to read. */
export interface WaitingWrite {
  /** Returns the bytes that the operating system has not accepted yet. */
  unsent(): number;
  /** Called when the client has read nothing for too long. */
  giveUp(): void;
}

interface Progress {
  unsent: number;
  atMs: number;
}

/** Checks all waiting writes at intervals. One timer per write would cost more than the write. */
export class StallWatch {
  readonly #limits: StallLimits;
  readonly #clock: Clock;
  readonly #waiting = new Map<WaitingWrite, Progress>();
  #isChecking = false;

  /** A reload may change the limits. */
  constructor(limits: StallLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  add(write: WaitingWrite): void {
    this.#waiting.set(write, { unsent: write.unsent(), atMs: this.#clock.nowMs() });
    if (!this.#isChecking) void this.#check();
  }

  remove(write: WaitingWrite): void {
    this.#waiting.delete(write);
  }

  /** Runs while any write waits. */
  async #check(): Promise<void> {
    this.#isChecking = true;
    while (this.#waiting.size > 0) {
      await this.#clock.sleep(this.#limits.stallCheckMs);
      for (const [write, progress] of this.#waiting) this.#judge(write, progress);
    }
    this.#isChecking = false;
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
