import { CodedError } from '../base/errors.ts';

interface Waiter {
  readonly sinceVersion: number;
  readonly wake: () => void;
}

/** Waking thousands in one go would hold the loop for as long as they all take. */
const sliceCount = 64;

/** Those who wait for a version above the one they know, woken a slice at a time. */
export class ChangeWaiters {
  readonly #waiters = new Set<Waiter>();
  readonly #countMax: number;
  #isWaking = false;
  #version = 0;
  #closed = false;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Resolves once a version above `sinceVersion` is announced, the signal aborts, or all is closed. */
  wait(sinceVersion: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#closed || this.#version > sinceVersion) return Promise.resolve();
    // A waiter costs a socket. Past this many, a refusal now beats a timeout later.
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

  announce(version: number): void {
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
    // Those who came meanwhile with an older version than the newest have no other announcement to wait for.
    const late = [...this.#waiters].some((one) => this.#closed || one.sinceVersion < this.#version);
    if (late) setImmediate(() => this.#startWaking());
  }
}
