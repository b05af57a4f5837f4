import { CodedError } from '@sluice/base/errors';

interface Waiter {
  readonly sinceVersion: number;
  readonly wake: () => void;
}

/** Waking thousands of waiters at once would block the event loop. */
const sliceCount = 64;

/** Callers that wait for a newer version of the chain. They are woken in batches. */
export class ChangeWaiters {
  readonly #waiters = new Set<Waiter>();
  readonly #countMax: number;
  #isWaking = false;
  #version = 0;
  #closed = false;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Resolves when a version above `sinceVersion` is announced, when the signal aborts, or on close. */
  wait(sinceVersion: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#closed || this.#version > sinceVersion) return Promise.resolve();
    // Each waiter occupies a socket. Beyond the limit, an immediate error is better than a timeout later.
    if (this.#waiters.size >= this.#countMax) throw new CodedError('waiters-full');
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const waiter = { sinceVersion, wake };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  notify(version: number): void {
    this.#version = version;
    this.#startWaking();
  }

  close(): void {
    this.#closed = true;
    this.#startWaking();
  }

  #startWaking(): void {
    if (this.#isWaking || this.#waiters.size === 0) return;
    this.#isWaking = true;
    this.#wakeSlice([...this.#waiters], 0);
  }

  #wakeSlice(waiters: readonly Waiter[], start: number): void {
    const end = Math.min(start + sliceCount, waiters.length);
    for (const waiter of waiters.slice(start, end)) {
      if (this.#closed || waiter.sinceVersion < this.#version) waiter.wake();
    }
    if (end < waiters.length) {
      setImmediate(() => this.#wakeSlice(waiters, end));
      return;
    }
    this.#isWaking = false;
    // Waiters that were added during the wake-up with an outdated version would otherwise wait for the next change.
    const late = [...this.#waiters].some(
      (waiter) => this.#closed || waiter.sinceVersion < this.#version,
    );
    if (late) setImmediate(() => this.#startWaking());
  }
}
