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
  /**
   * A room that so many passed over is forgotten: those of a busy hour are not kept for the quiet day after it. What is
   * forgotten is free when all threads that saw it have collected, so this is not for rooms that come and go; never if absent.
   */
  readonly passedCountMax?: number;
}

interface SpareRoom {
  readonly buffer: SharedArrayBuffer;
  /** How many rooms had been taken when it came back. */
  readonly takenCount: number;
}

export class SharedRooms {
  readonly #options: SharedRoomsOptions;
  /** In the order in which they came back. */
  readonly #spare: SpareRoom[] = [];
  #takenCount = 0;
  #count = 0;
  #bytes = 0;

  constructor(options: SharedRoomsOptions) {
    this.#options = options;
  }

  /** Memory of this length, with anything in it; undefined if there is no room. */
  take(length: number): Uint8Array | undefined {
    this.#takenCount++;
    const buffer = this.#takeSpare(length) ?? this.#make(length);
    this.#forgetPassed();
    return buffer === undefined ? undefined : new Uint8Array(buffer, 0, length);
  }

  put(buffer: SharedArrayBuffer): void {
    this.#spare.push({ buffer, takenCount: this.#takenCount });
  }

  /** The shortest that suffices, of those the one that came back last: the others are passed over. */
  #takeSpare(length: number): SharedArrayBuffer | undefined {
    let best = -1;
    let bestLength = Number.POSITIVE_INFINITY;
    for (const [i, { buffer }] of this.#spare.entries()) {
      if (buffer.byteLength < length || buffer.byteLength > bestLength) continue;
      best = i;
      bestLength = buffer.byteLength;
    }
    return best < 0 ? undefined : this.#spare.splice(best, 1)[0]?.buffer;
  }

  #forgetPassed(): void {
    const { passedCountMax = Number.POSITIVE_INFINITY } = this.#options;
    const isPassed = ({ takenCount }: SpareRoom) => this.#takenCount - takenCount > passedCountMax;
    while (this.#spare[0] !== undefined && isPassed(this.#spare[0])) {
      this.#forget(this.#spare.shift());
    }
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

  #forget(room: SpareRoom | undefined): void {
    this.#count--;
    this.#bytes -= room?.buffer.byteLength ?? 0;
  }
}
