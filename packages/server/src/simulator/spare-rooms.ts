/** Smaller blocks are left to the collector; they cost it little. */
const ROOM_BYTES_MIN = 256 * 1024;
/** Rooms come in steps, so that the room of one block fits the next. */
const ROOM_STEP = 1024 * 1024;

/**
 * Room for the bytes of blocks, used again and again. Fresh megabytes for every block would make the engine mark its
 * whole heap every few blocks: it counts them as pressure, however short they live.
 */
export class SpareRooms {
  readonly #bytesMax: number;
  readonly #own = new WeakSet<ArrayBufferLike>();
  /** Oldest first. */
  readonly #spare: ArrayBufferLike[] = [];
  #bytes = 0;

  constructor(options: { bytesMax: number }) {
    this.#bytesMax = options.bytesMax;
  }

  /** So many bytes, with anything in them. */
  take(byteCount: number): Uint8Array {
    if (byteCount < ROOM_BYTES_MIN) return Buffer.allocUnsafeSlow(byteCount);
    const index = this.#findFit(byteCount);
    if (index >= 0) {
      const [room] = this.#spare.splice(index, 1) as [ArrayBufferLike];
      this.#bytes -= room.byteLength;
      return Buffer.from(room, 0, byteCount);
    }
    const made = Buffer.allocUnsafeSlow(Math.ceil(byteCount / ROOM_STEP) * ROOM_STEP);
    this.#own.add(made.buffer);
    return made.subarray(0, byteCount);
  }

  /** Nobody reads these bytes any more. Bytes that are not from here are left alone. */
  giveBack(bytes: Uint8Array): void {
    const room = bytes.buffer;
    if (!this.#own.has(room)) return;
    this.#spare.push(room);
    this.#bytes += room.byteLength;
    while (this.#bytes > this.#bytesMax) {
      this.#bytes -= (this.#spare.shift() as ArrayBufferLike).byteLength;
    }
  }

  /** The smallest room that is large enough, and not so large that half of it would lie idle; -1 if none. */
  #findFit(byteCount: number): number {
    let best = -1;
    let bestBytes = Math.max(ROOM_STEP, byteCount * 2) + 1;
    for (const [index, { byteLength }] of this.#spare.entries()) {
      if (byteLength < byteCount || byteLength >= bestBytes) continue;
      best = index;
      bestBytes = byteLength;
    }
    return best;
  }
}
