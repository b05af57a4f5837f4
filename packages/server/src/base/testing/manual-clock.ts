import type { Clock } from '../clock.ts';

/** A clock that advances only when a test calls `advance`. */
export class ManualClock implements Clock {
  #nowMs = 0;
  #sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  unixMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const sleeper = { atMs: this.#nowMs + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    const due = this.#sleepers.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#sleepers = this.#sleepers.filter(({ atMs }) => atMs > this.#nowMs);
    for (const { wake } of due) wake();
  }
}
