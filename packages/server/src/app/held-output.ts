import { Writable } from 'node:stream';

/** Lines that are held; a start that logs more than this has something to say. */
const heldCountMax = 1_000;

/**
 * Output that is held back until it is released, and then passed on at once. On a terminal the log of a start is shown below the
 * text that says where the service listens, and not over it.
 */
export class HeldOutput extends Writable {
  readonly #target: NodeJS.WritableStream;
  #held: Buffer[] | null = [];

  constructor(target: NodeJS.WritableStream) {
    super();
    this.#target = target;
  }

  get isTTY(): boolean {
    return (this.#target as { isTTY?: boolean }).isTTY === true;
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
