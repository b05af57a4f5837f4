import { Writable } from 'node:stream';
import { isTerminal } from '@sluice/base/terminal';

/** The limit of held lines. If there are more, the output is released. */
const heldCountMax = 1_000;

/**
 * Holds back output until it is released. On a terminal the log of the start appears below the startup text instead of above it.
 */
export class HeldOutput extends Writable {
  readonly #target: NodeJS.WritableStream;
  #held: Buffer[] | null = [];

  constructor(target: NodeJS.WritableStream) {
    super();
    this.#target = target;
  }

  get isTTY(): boolean {
    return isTerminal(this.#target);
  }

  /** A second call does nothing. */
  release(): void {
    const held = this.#held;
    this.#held = null;
    for (const chunk of held ?? []) this.#target.write(chunk);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#held === null) this.#target.write(chunk);
    else this.#held.push(chunk);
    if ((this.#held?.length ?? 0) > heldCountMax) this.release();
    done();
  }
}
