/** Memory for the lines of files: made anew for each caller, or used again when all lines in it were read. */
export interface LineMemory {
  /** Returns memory of at least this length with anything in it. The caller holds it until it releases it. */
  allocate(length: number): Uint8Array;
  /** Lets one more hold the memory of these bytes. */
  retain(bytes: Uint8Array): void;
  /** One holder of the memory of these bytes no longer reads it. */
  release(bytes: Uint8Array): void;
}

/** Memory that is not used again: the garbage collector finds out when nobody reads it. */
export const collectedMemory: LineMemory = {
  // It is not zeroed: all of it is written before it is read.
  allocate: (length) => new Uint8Array(Buffer.allocUnsafeSlow(length).buffer),
  retain: () => undefined,
  release: () => undefined,
};

/** What blocks under way fill, and some. */
const spareBytesMax = 256 * 1024 * 1024;

/**
 * Shared memory that is used again. Lines need not be copied for another thread, and the garbage collector of no thread counts
 * them: memory that was moved from thread to thread kept all of them collecting.
 */
export class LineBuffers implements LineMemory {
  readonly #holders = new Map<ArrayBufferLike, number>();
  readonly #spares: SharedArrayBuffer[] = [];
  #spareBytes = 0;

  allocate(length: number): Uint8Array {
    const place = this.#spares.findIndex(({ byteLength }) => byteLength >= length);
    const [spare] = place < 0 ? [] : this.#spares.splice(place, 1);
    this.#spareBytes -= spare?.byteLength ?? 0;
    const buffer = spare ?? new SharedArrayBuffer(length);
    this.#holders.set(buffer, 1);
    return new Uint8Array(buffer);
  }

  retain({ buffer }: Uint8Array): void {
    this.#holders.set(buffer, (this.#holders.get(buffer) ?? 0) + 1);
  }

  release({ buffer }: Uint8Array): void {
    const count = (this.#holders.get(buffer) ?? 0) - 1;
    if (count > 0) {
      this.#holders.set(buffer, count);
      return;
    }
    this.#holders.delete(buffer);
    if (!(buffer instanceof SharedArrayBuffer)) return;
    if (this.#spareBytes + buffer.byteLength > spareBytesMax) return;
    this.#spares.push(buffer);
    this.#spareBytes += buffer.byteLength;
  }
}
