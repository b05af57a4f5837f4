import type { Clock } from '@sluice/base/clock';

const announcedCountMax = 64;

/** The last slots that a source has announced, and the tasks that wait for the next one. */
export class SlotAnnouncements {
  readonly #clock: Clock;
  readonly #waiters = new Set<() => void>();
  /** The times of the last announcements by slot. */
  readonly #announced = new Map<number, number>();
  #highest = -1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get highest(): number {
    return this.#highest;
  }

  announcedMs(slot: number): number | undefined {
    return this.#announced.get(slot);
  }

  announcedAbove(slot: number): number[] {
    const nowMs = this.#clock.nowMs();
    return [...this.#announced].flatMap(([announced, ms]) =>
      announced > slot ? [nowMs - ms] : [],
    );
  }

  async above(slot: number, ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#highest > slot) return;
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#waiters.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    try {
      await this.#clock.sleep(ms, woken.signal);
    } finally {
      this.#waiters.delete(wake);
      signal.removeEventListener('abort', wake);
    }
  }

  protected announce(slot: number): void {
    // The slot can be lower than before, as after a fork. It still means that there may be a new block.
    this.#highest = slot;
    this.#announced.set(slot, this.#clock.nowMs());
    const [oldest = slot] = this.#announced.keys();
    if (this.#announced.size > announcedCountMax) this.#announced.delete(oldest);
    for (const wake of [...this.#waiters]) wake();
  }
}

/** Waits until nothing has been received for a time. */
export class Silence {
  readonly #msMax: number;
  readonly #clock: Clock;
  #heardMs: number;

  constructor(msMax: number, clock: Clock) {
    this.#msMax = msMax;
    this.#clock = clock;
    this.#heardMs = clock.nowMs();
  }

  break(): void {
    this.#heardMs = this.#clock.nowMs();
  }

  async wait(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const leftMs = this.#heardMs + this.#msMax - this.#clock.nowMs();
      if (leftMs <= 0) return;
      await this.#clock.sleep(leftMs, signal);
    }
  }
}
