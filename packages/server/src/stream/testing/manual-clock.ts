import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@sluice/base/clock';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** A clock that only tests advance. */
export class ManualClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  get sleeperCount(): number {
    return this.#sleepers.size;
  }

  unixMs(): number {
    return 1_738_368_000_000 + this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { atMs: this.#nowMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** Advances time, wakes sleepers in order and waits until their work has settled. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await settle();
      const due = [...this.#sleepers].filter(({ atMs }) => atMs <= endMs);
      const next = due.sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** Waits until all work that needs no time is done. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await nextTurn();
}
