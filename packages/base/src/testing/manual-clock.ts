import type { Clock } from '../clock.ts';

/** A clock that advances only when a test calls `advance`. */
export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #sleepers = new Set<{ readonly atMs: number; readonly wake: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  unixMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { atMs: this.#nowMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const { atMs, wake } of [...this.#sleepers]) if (atMs <= this.#nowMs) wake();
  }
}
