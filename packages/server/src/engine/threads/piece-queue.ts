import { elementAt } from '@sluice/base/element-at';
import type { CodedError } from '@sluice/base/errors';
import type { PartPiece, RunPiece } from './engine-messages.ts';

export interface QueuedPiece extends RunPiece {
  readonly thread: number;
  /** The length of the text and the compressed text, kept because the bytes may be gone when it is needed. */
  readonly length: number;
}

export interface PartFailure {
  readonly part: number;
  readonly error: CodedError;
}

/**
 * Puts the pieces of one run in order. Thread t delivers the pieces of every n-th part in order, so part p is complete when its thread
 * delivers a later part or ends. The size is limited by how far the threads may be ahead.
 */
export class PieceQueue {
  readonly #waiting: PartPiece[][];
  readonly #ended: boolean[];
  readonly #failures: (PartFailure | undefined)[];
  readonly #turn: number;
  #part = 0;
  #failure: CodedError | undefined;
  #wake: () => void = () => {};

  constructor(threadCount: number, turn: number) {
    this.#turn = turn;
    this.#waiting = Array.from({ length: threadCount }, () => []);
    this.#ended = Array.from({ length: threadCount }, () => false);
    this.#failures = Array.from({ length: threadCount }, () => undefined);
  }

  get isEnded(): boolean {
    return this.#ended.every(Boolean);
  }

  push(thread: number, pieces: readonly PartPiece[]): void {
    elementAt(this.#waiting, thread).push(...pieces);
    this.#wake();
  }

  end(thread: number): void {
    this.#ended[thread] = true;
    this.#wake();
  }

  /** Fails immediately, even if pieces were delivered. */
  fail(error: CodedError): void {
    this.#failure ??= error;
    this.#wake();
  }

  /** Fails at a part of the thread. Earlier parts and delivered pieces are still returned. */
  failAt(thread: number, failure: PartFailure): void {
    this.#failures[thread] = failure;
    this.#wake();
  }

  /** Releases the pieces that nothing will read. */
  release(): void {
    for (const pieces of this.#waiting) for (const piece of pieces.splice(0)) piece.release();
  }

  /** Returns the next piece in order, or undefined at the end. */
  async next(): Promise<QueuedPiece | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const piece = this.#take();
      if (piece !== 'none yet') return piece;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): QueuedPiece | undefined | 'none yet' {
    for (;;) {
      const thread = (this.#part + this.#turn) % this.#waiting.length;
      const pieces = elementAt(this.#waiting, thread);
      const first = pieces[0];
      if (first?.part === this.#part) {
        pieces.shift();
        const length = first.bytes.length + (first.deflated?.bytes.length ?? 0);
        return { ...first, thread, length };
      }
      const failure = this.#failures[thread];
      if (first === undefined && failure !== undefined && failure.part <= this.#part)
        throw failure.error;
      if (first === undefined && failure === undefined && !this.#ended[thread]) return 'none yet';
      // All parts were delivered when every thread has ended and no piece is left.
      if (this.isEnded && this.#waiting.every(({ length }) => length === 0)) return undefined;
      this.#part++;
    }
  }
}
