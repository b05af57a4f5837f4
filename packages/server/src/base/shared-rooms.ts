/**
 * Memory that threads share, used again when a reader gave it back. What is moved from thread to thread each of them counts as
 * its own to collect, and what is shared nobody counts: so neither is made for every block.
 */
export interface SharedRoomsOptions {
  /** Past these, and in place of rooms that never come back, no more are made. */
  readonly countMax: number;
  readonly bytesMax: number;
  /** Rooms are a multiple of this long, so that one fits the next block too. */
  readonly granuleBytes: number;
}

export class SharedRooms {
  readonly #options: SharedRoomsOptions;
  readonly #spare: SharedArrayBuffer[] = [];
  #count = 0;
  #bytes = 0;

  constructor(options: SharedRoomsOptions) {
    this.#options = options;
  }

  /** Memory of this length, with anything in it; undefined if there is no room. */
  take(length: number): Uint8Array | undefined {
    const buffer = this.#takeSpare(length) ?? this.#make(length);
    return buffer === undefined ? undefined : new Uint8Array(buffer, 0, length);
  }

  put(buffer: SharedArrayBuffer): void {
    this.#spare.push(buffer);
  }

  /** The shortest that suffices. */
  #takeSpare(length: number): SharedArrayBuffer | undefined {
    let best = -1;
    for (const [i, { byteLength }] of this.#spare.entries()) {
      const isShorter = byteLength < (this.#spare[best]?.byteLength ?? Number.POSITIVE_INFINITY);
      if (byteLength >= length && isShorter) best = i;
    }
    return best < 0 ? undefined : this.#spare.splice(best, 1)[0];
  }

  /** One that is too short for what comes makes room. */
  #make(length: number): SharedArrayBuffer | undefined {
    const { countMax, bytesMax, granuleBytes } = this.#options;
    const byteLength = (Math.floor(length / granuleBytes) + 1) * granuleBytes;
    const isFull = () => this.#count >= countMax || this.#bytes + byteLength > bytesMax;
    while (isFull() && this.#spare.length > 0) this.#forget(this.#spare.pop());
    if (isFull()) return undefined;
    this.#count++;
    this.#bytes += byteLength;
    return new SharedArrayBuffer(byteLength);
  }

  #forget(buffer: SharedArrayBuffer | undefined): void {
    this.#count--;
    this.#bytes -= buffer?.byteLength ?? 0;
  }
}
