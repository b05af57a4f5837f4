/**
 * Memory for large replies that threads share, used again when a reader gave it back. What is moved from thread to thread each of
 * them counts as its own to collect, and a block of some megabytes every 400 ms made each collect all the time.
 */

/** As many as replies are under way, and some. Past that, and in place of rooms that never come back, memory is moved. */
const countMax = 24;
const bytesMax = 128 * 1024 * 1024;
/** Below this a room is not worth the way back. */
const lengthMin = 256 * 1024;
const granule = 1024 * 1024;

export class SharedRooms {
  readonly #spare: SharedArrayBuffer[] = [];
  #count = 0;
  #bytes = 0;

  /** Memory of this length that is not zeroed; its own buffer if it is shared or not. */
  take(length: number): Uint8Array {
    if (length < lengthMin) return Buffer.allocUnsafeSlow(length);
    const buffer = this.#takeSpare(length) ?? this.#make(length);
    return buffer === undefined
      ? Buffer.allocUnsafeSlow(length)
      : new Uint8Array(buffer, 0, length);
  }

  put(buffer: SharedArrayBuffer): void {
    this.#spare.push(buffer);
  }

  #takeSpare(length: number): SharedArrayBuffer | undefined {
    const at = this.#spare.findIndex(({ byteLength }) => byteLength >= length);
    return at < 0 ? undefined : this.#spare.splice(at, 1)[0];
  }

  /** A little longer than needed, as the next reply may be. One that is too short for what comes makes room. */
  #make(length: number): SharedArrayBuffer | undefined {
    const tooShort = this.#spare.pop();
    if (tooShort !== undefined) this.#forget(tooShort);
    const byteLength = (Math.floor(length / granule) + 1) * granule;
    if (this.#count === countMax || this.#bytes + byteLength > bytesMax) return undefined;
    this.#count++;
    this.#bytes += byteLength;
    return new SharedArrayBuffer(byteLength);
  }

  #forget({ byteLength }: SharedArrayBuffer): void {
    this.#count--;
    this.#bytes -= byteLength;
  }
}
