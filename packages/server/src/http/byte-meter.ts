/** Bytes that all requests together hold of something. Past the limit no new one is let in. */
export class ByteMeter {
  readonly #bytesMax: () => number;
  #bytes = 0;

  /** The limit may change under way. */
  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesMax();
  }

  add(byteCount: number): void {
    this.#bytes += byteCount;
  }

  remove(byteCount: number): void {
    this.#bytes -= byteCount;
  }
}

/** What one request holds, given back together. */
export class HeldBytes {
  readonly #meter: ByteMeter;
  #bytes = 0;

  constructor(meter: ByteMeter) {
    this.#meter = meter;
  }

  /** False if others hold too much already; then nothing is added. */
  take(byteCount: number): boolean {
    if (this.#meter.isFull) return false;
    this.#meter.add(byteCount);
    this.#bytes += byteCount;
    return true;
  }

  release(): void {
    this.#meter.remove(this.#bytes);
    this.#bytes = 0;
  }
}
