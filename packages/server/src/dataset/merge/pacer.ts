import type { Clock } from '@sluice/base/clock';

/**
 * The bytes that a resting thread writes in a second at most. Merging so many takes a core an eighth of the time, and is several times what
 * the largest ledgers grow. A merge of 256 MB takes a minute.
 */
const bytesPerSecond = 4 << 20;

export interface PacerDependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Blocks the thread. */
  readonly rest: (ms: number) => void;
}

/**
 * Spreads the work of a background thread over time, so that threads that serve readers find an idle core and a warm cache. The rate does
 * not depend on what else the machine does: a thread that shares its core works for longer, and rests less.
 */
export class Pacer {
  readonly #dependencies: PacerDependencies;
  #sinceMs: number;
  #bytes = 0;

  constructor(dependencies: PacerDependencies) {
    this.#dependencies = dependencies;
    this.#sinceMs = dependencies.clock.nowMs();
  }

  /** Notes that the thread begins to work after it has waited for something. */
  begin(): void {
    this.#sinceMs = this.#dependencies.clock.nowMs();
  }

  add(byteCount: number): void {
    this.#bytes += byteCount;
  }

  /** Rests until the bytes that were added since the last rest may have been written. */
  rest(): void {
    const { clock, rest } = this.#dependencies;
    const dueMs = (this.#bytes / bytesPerSecond) * 1_000;
    rest(Math.max(0, dueMs - (clock.nowMs() - this.#sinceMs)));
    this.#bytes = 0;
    this.begin();
  }
}

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Blocks the calling thread. The end of a worker thread interrupts it. */
export function restInThread(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
