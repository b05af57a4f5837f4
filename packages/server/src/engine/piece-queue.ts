import type { CodedError } from '../base/errors.ts';
import type { PartPiece, RunPiece } from './engine-messages.ts';

export interface QueuedPiece extends RunPiece {
  readonly thread: number;
  /** Of its text and compressed text; they may be handed on and gone by the time it is needed. */
  readonly length: number;
}

export interface PartFailure {
  readonly part: number;
  readonly error: CodedError;
}

/**
 * Puts the pieces of one run in order. Thread t delivers the pieces of its parts in order, every n-th of all, so part p is
 * complete when its thread delivers a later part or has ended. Bounded by what the threads may be ahead.
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
    (this.#waiting[thread] as PartPiece[]).push(...pieces);
    this.#wake();
  }

  end(thread: number): void {
    this.#ended[thread] = true;
    this.#wake();
  }

  /** At once, whatever has been delivered. */
  fail(error: CodedError): void {
    this.#failure ??= error;
    this.#wake();
  }

  /** At a part of the thread: what was delivered, and the parts before it, are good. */
  failAt(thread: number, failure: PartFailure): void {
    this.#failures[thread] = failure;
    this.#wake();
  }

  /** Lets go of what nobody will take. */
  release(): void {
    for (const pieces of this.#waiting) for (const piece of pieces.splice(0)) piece.release();
  }

  /** The next piece in order, undefined at the end. */
  async next(): Promise<QueuedPiece | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const found = this.#take();
      if (found !== 'none yet') return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): QueuedPiece | undefined | 'none yet' {
    for (;;) {
      const thread = (this.#part + this.#turn) % this.#waiting.length;
      const pieces = this.#waiting[thread] as PartPiece[];
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
      // No part is left when every thread has ended and delivered all.
      if (this.isEnded && this.#waiting.every(({ length }) => length === 0)) return undefined;
      this.#part++;
    }
  }
}
