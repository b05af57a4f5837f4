const SIZE_FIRST = 1 << 20;

/** A UTF-8 character takes at most this many bytes per unit of a JavaScript text. */
const BYTES_PER_UNIT_MAX = 3;

/** The room that is filled again for every block; what was written is copied out of it. */
let room = Buffer.allocUnsafe(SIZE_FIRST);

/** Collects texts as bytes, one sink at a time. Texts become garbage at once instead of waiting for the end of a block. */
export class ByteSink {
  #size = 0;

  write(text: string): void {
    const needed = this.#size + text.length * BYTES_PER_UNIT_MAX;
    if (needed > room.length) {
      const larger = Buffer.allocUnsafe(needed * 2);
      room.copy(larger, 0, 0, this.#size);
      room = larger;
    }
    this.#size += room.write(text, this.#size, 'utf8');
  }

  /** For texts of ASCII only: their bytes are copied without a look. */
  writeAscii(text: string): void {
    if (this.#size + text.length > room.length) this.write(text);
    else this.#size += room.write(text, this.#size, 'latin1');
  }

  finish(takeRoom: (byteCount: number) => Uint8Array): Uint8Array {
    const bytes = takeRoom(this.#size);
    room.copy(bytes, 0, 0, this.#size);
    return bytes;
  }
}
