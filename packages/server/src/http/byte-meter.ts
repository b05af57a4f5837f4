/**
 * What waits in memory for readers that are slower than we are. One meter for all streams: each of them may hold no more
 * than the piece it sends and the one made ahead, and past the limit no new one is let in.
 */
export class ByteMeter {
  readonly #limits: { readonly unsentBytesMax: number };
  #bytes = 0;

  /** The limit may change under way. */
  constructor(limits: { readonly unsentBytesMax: number }) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#limits.unsentBytesMax;
  }

  add(byteCount: number): void {
    this.#bytes += byteCount;
  }

  remove(byteCount: number): void {
    this.#bytes -= byteCount;
  }
}
