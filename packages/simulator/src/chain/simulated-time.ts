import type { Clock } from '@sluice/base/clock';

// A timer of the platform overflows beyond 2^31 ms, so a longer wait consists of several timers.
const sleepMsMax = 60_000;

/** The ledger's time, which runs at its own speed and can be paused and advanced. */
export class SimulatedTime {
  readonly #clock: Clock;
  /** Milliseconds of the ledger per millisecond of the clock. */
  readonly speed: number;
  #baseMs: number;
  /** The time of the clock at which the time of the ledger was `#baseMs`; undefined while paused. */
  #since: number | undefined;
  readonly #wakers = new Set<() => void>();

  /** With `paused`, only `advance` changes the time. */
  constructor(
    options: { readonly startMs: number; readonly speed: number; readonly paused: boolean },
    dependencies: { clock: Clock },
  ) {
    this.#clock = dependencies.clock;
    this.speed = options.speed;
    this.#baseMs = options.startMs;
    this.#since = options.paused ? undefined : this.#clock.nowMs();
  }

  get paused(): boolean {
    return this.#since === undefined;
  }

  nowMs(): number {
    if (this.#since === undefined) return this.#baseMs;
    return this.#baseMs + (this.#clock.nowMs() - this.#since) * this.speed;
  }

  pause(): void {
    this.#baseMs = this.nowMs();
    this.#since = undefined;
    this.nudge();
  }

  resume(): void {
    this.#baseMs = this.nowMs();
    this.#since = this.#clock.nowMs();
    this.nudge();
  }

  advance(ms: number): void {
    this.#baseMs += ms;
    this.nudge();
  }

  /** Resolves at the given ledger time, or earlier if the time was changed or the signal aborts. */
  async waitUntil(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#wakers.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    try {
      if (signal.aborted) return;
      await this.#clock.sleep(this.#sleepMs(ms), woken.signal);
    } finally {
      this.#wakers.delete(wake);
      signal.removeEventListener('abort', wake);
    }
  }

  #sleepMs(ms: number): number {
    if (this.#since === undefined) return sleepMsMax;
    return Math.min(sleepMsMax, Math.max(0, Math.ceil((ms - this.nowMs()) / this.speed)));
  }

  /** Wakes all waiters, so that they check their condition again. */
  nudge(): void {
    for (const wake of [...this.#wakers]) wake();
  }
}
