/** Counts the bytes that all requests together hold in memory for one purpose. New requests are rejected above the limit. */
export class ByteMeter {
  readonly #bytesMax: () => number;
  #bytes = 0;

  /** A reload may change the limit. */
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

/** The bytes that one request holds, released together. */
export class HeldBytes {
  readonly #meter: ByteMeter;
  #bytes = 0;

  constructor(meter: ByteMeter) {
    this.#meter = meter;
  }

  /** Adds bytes. Returns false, and adds nothing, if the limit is already reached. */
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
