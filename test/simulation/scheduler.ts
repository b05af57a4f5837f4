import type { Clock } from '@sluice/base/clock';

/** A process or a client. When it has ended, none of its events happens any more, as after kill -9. */
export class Life {
  isOver = false;
  /** Until then nothing happens in the process, as while a machine is suspended. Its events happen afterwards, in their order. */
  pausedUntilMs = 0;
}

interface Entry {
  atMs: number;
  readonly order: number;
  readonly life: Life;
  readonly run: () => void;
  isCancelled: boolean;
}

/** All events of a simulation, in the order of simulated time. Everything that happens later than now happens here. */
export class Scheduler {
  nowMs = 0;
  eventCount = 0;
  /** Called after each event and what follows from it without delay. */
  afterEvent: () => void = () => undefined;
  readonly #heap: Entry[] = [];
  #order = 0;

  schedule(delayMs: number, life: Life, run: () => void): () => void {
    const atMs = this.nowMs + Math.max(0, delayMs);
    const entry: Entry = { atMs, order: this.#order++, life, run, isCancelled: false };
    this.#push(entry);
    return () => {
      entry.isCancelled = true;
    };
  }

  /** Resolves after a delay, unless the life ends before. */
  delay(delayMs: number, life: Life): Promise<void> {
    return new Promise((resolve) => {
      this.schedule(delayMs, life, resolve);
    });
  }

  /** Lets simulated time pass. */
  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      const [next] = this.#heap;
      if (next === undefined || next.atMs > endMs) break;
      this.#pop();
      if (next.isCancelled || next.life.isOver) continue;
      if (next.life.pausedUntilMs > next.atMs) {
        next.atMs = next.life.pausedUntilMs;
        this.#push(next);
        continue;
      }
      this.nowMs = next.atMs;
      this.eventCount++;
      next.run();
      await turn();
      this.afterEvent();
    }
    this.nowMs = endMs;
    await turn();
    this.afterEvent();
  }

  clock(life: Life): Clock {
    return {
      nowMs: () => this.nowMs,
      unixMs: () => startUnixMs + this.nowMs,
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve();
          const finish = () => {
            cancel();
            signal?.removeEventListener('abort', finish);
            resolve();
          };
          const cancel = this.schedule(ms, life, finish);
          signal?.addEventListener('abort', finish, { once: true });
        }),
    };
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent] as Entry)) break;
      heap[at] = heap[parent] as Entry;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Entry, heap[child] as Entry))
        child++;
      if (!isBefore(heap[child] as Entry, last)) break;
      heap[at] = heap[child] as Entry;
      at = child;
    }
    heap[at] = last;
  }
}

/** The ledger of the simulation has about this time. */
export const startUnixMs = 1_738_368_000_000;

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Lets everything happen that waits for no simulated time. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
