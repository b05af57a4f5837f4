/** A block is one request to the store. */
const blockBytes = 1 << 20;
/** An index is read in two places, its pages and its lists; the next block of each is requested before it is needed. */
const blockCountMax = 6;

/** Reads bytes of one object. */
export type ReadRange = (position: number, length: number) => Promise<Uint8Array>;

/** Reads a long object from front to back, in one place or in two, by large requests that are made ahead. */
export class ReadAhead {
  readonly #byteLength: number;
  readonly #readRange: ReadRange;
  /** By number, the ones that were used longest ago first. */
  readonly #blocks = new Map<number, Promise<Uint8Array>>();

  constructor(byteLength: number, readRange: ReadRange) {
    this.#byteLength = byteLength;
    this.#readRange = readRange;
  }

  /** Returns fewer bytes at the end of the object. */
  async read(position: number, length: number): Promise<Uint8Array> {
    const end = Math.min(position + length, this.#byteLength);
    const parts: Uint8Array[] = [];
    let number = Math.floor(position / blockBytes);
    for (; number * blockBytes < end; number++) {
      const bytes = await this.#block(number);
      const start = number * blockBytes;
      parts.push(bytes.subarray(Math.max(0, position - start), end - start));
    }
    // If this request fails, the read that needs the block gets the error.
    if (number * blockBytes < this.#byteLength) this.#block(number).catch(() => undefined);
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  #block(number: number): Promise<Uint8Array> {
    const block = this.#blocks.get(number) ?? this.#request(number);
    this.#blocks.delete(number);
    this.#blocks.set(number, block);
    for (const oldest of [...this.#blocks.keys()].slice(0, -blockCountMax))
      this.#blocks.delete(oldest);
    return block;
  }

  #request(number: number): Promise<Uint8Array> {
    const start = number * blockBytes;
    const block = this.#readRange(start, Math.min(blockBytes, this.#byteLength - start));
    block.catch(() => this.#blocks.delete(number));
    return block;
  }
}
