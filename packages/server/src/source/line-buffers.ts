import type { Allocate } from './split-lines.ts';

/** One for each block under way, and some. */
const spareCountMax = 24;
const spareBytesMax = 256 * 1024 * 1024;

/**
 * Shared memory for the lines of files, used again when the block of a line was read. Neither does a line have to be copied for
 * another thread, nor does the garbage collector of any thread count it: memory that is moved from thread to thread made all of
 * them collect all the time.
 */
export class LineBuffers {
  readonly #spares: SharedArrayBuffer[] = [];
  #spareBytes = 0;

  readonly allocate: Allocate = (length) => {
    const place = this.#spares.findIndex(({ byteLength }) => byteLength >= length);
    if (place < 0) return new Uint8Array(new SharedArrayBuffer(length));
    const [buffer] = this.#spares.splice(place, 1) as [SharedArrayBuffer];
    this.#spareBytes -= buffer.byteLength;
    return new Uint8Array(buffer, 0, length);
  };

  /** Takes back the memory of a line that nobody reads any more. */
  giveBack({ buffer }: Uint8Array): void {
    if (!(buffer instanceof SharedArrayBuffer) || this.#spares.length >= spareCountMax) return;
    if (this.#spareBytes + buffer.byteLength > spareBytesMax) return;
    this.#spares.push(buffer);
    this.#spareBytes += buffer.byteLength;
  }
}
