/** Memory for the lines of files. */
export interface LineMemory {
  /** Returns memory of at least this length, not zeroed. The caller owns one reference until it calls `release`. */
  allocate(length: number): Uint8Array;
  /** Adds a reference to the memory of these bytes. */
  retain(bytes: Uint8Array): void;
  /** Removes a reference to the memory of these bytes. */
  release(bytes: Uint8Array): void;
}

/** Memory that is garbage-collected instead of reused. */
export const collectedMemory: LineMemory = {
  // The memory is not zeroed, because all of it is written before it is read.
  allocate: (length) => new Uint8Array(Buffer.allocUnsafeSlow(length).buffer),
  retain: () => undefined,
  release: () => undefined,
};

/** More than the blocks that are processed at the same time. */
const spareBytesMax = 256 * 1024 * 1024;

/**
 * Shared memory with reference counts, which is reused. Lines are not copied to other threads, and no garbage collector accounts
 * for them. Transferred memory would trigger garbage collections in all threads.
 */
export class LineBuffers implements LineMemory {
  readonly #references = new Map<ArrayBufferLike, number>();
  readonly #spares: SharedArrayBuffer[] = [];
  #spareBytes = 0;

  allocate(length: number): Uint8Array {
    const index = this.#spares.findIndex(({ byteLength }) => byteLength >= length);
    const [spare] = index < 0 ? [] : this.#spares.splice(index, 1);
    this.#spareBytes -= spare?.byteLength ?? 0;
    const buffer = spare ?? new SharedArrayBuffer(length);
    this.#references.set(buffer, 1);
    return new Uint8Array(buffer);
  }

  retain({ buffer }: Uint8Array): void {
    this.#references.set(buffer, (this.#references.get(buffer) ?? 0) + 1);
  }

  release({ buffer }: Uint8Array): void {
    const count = (this.#references.get(buffer) ?? 0) - 1;
    if (count > 0) {
      this.#references.set(buffer, count);
      return;
    }
    this.#references.delete(buffer);
    if (!(buffer instanceof SharedArrayBuffer)) return;
    if (this.#spareBytes + buffer.byteLength > spareBytesMax) return;
    this.#spares.push(buffer);
    this.#spareBytes += buffer.byteLength;
  }
}
