/**
 * Notifies a worker thread of the end of a fetch while the thread is blocked and receives no messages.
 *
 *   word 0   the ticket of the fetch that ended last
 *   word 1   its result: 0 for success, otherwise the index of the error code in the list below plus one
 */
import { CodedError, type ErrorCode, isCodedError } from '@sluice/base/errors';

const FAILURES = [
  'store-unreachable',
  'store-refused',
  'store-object-missing',
  'cache-failed',
  'cache-too-small',
] as const satisfies readonly ErrorCode[];

/** Longer than all retries of a request together. */
const waitMsMax = 60_000;

export class FetchSignal {
  readonly #words: Int32Array<SharedArrayBuffer>;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  static create(): FetchSignal {
    return new FetchSignal(new SharedArrayBuffer(8));
  }

  get buffer(): SharedArrayBuffer {
    return this.#words.buffer;
  }

  /** The ticket of the fetch that ended last. */
  get lastTicket(): number {
    return Atomics.load(this.#words, 0);
  }

  finish(ticket: number): void {
    this.#end(ticket, 0);
  }

  fail(ticket: number, error: unknown): void {
    const index = FAILURES.findIndex((code) => isCodedError(error, code));
    this.#end(ticket, Math.max(index, 0) + 1);
  }

  /** Blocks the thread until the fetch with this ticket has ended. Throws if it failed. */
  wait(ticket: number): void {
    for (;;) {
      const last = this.lastTicket;
      if (last === ticket) break;
      if (Atomics.wait(this.#words, 0, last, waitMsMax) === 'timed-out') {
        throw new CodedError('store-unreachable', { operation: 'get', reason: 'timeout' });
      }
    }
    const result = Atomics.load(this.#words, 1);
    if (result > 0) throw new CodedError(FAILURES[result - 1] ?? FAILURES[0]);
  }

  /** A thread waits for one ticket at a time, so a result for an earlier ticket is never read. */
  #end(ticket: number, result: number): void {
    Atomics.store(this.#words, 1, result);
    Atomics.store(this.#words, 0, ticket);
    Atomics.notify(this.#words, 0);
  }
}
