/**
 * A bounded pool of shared buffers that readers return after use. Each thread counts transferred buffers towards its
 * own garbage collection, and shared buffers are counted by no thread. Allocating either kind for every block would
 * therefore cause constant collections or unbounded growth, so the buffers are reused.
 */
export interface SharedBufferPoolOptions {
  /** The pool allocates no more than this many buffers. A buffer that is never returned still counts. */
  readonly countMax: number;
  readonly bytesMax: number;
  /** Buffer lengths are rounded up to a multiple of this, so that a buffer also fits the next block. */
  readonly granuleBytes: number;
  /**
   * The pool drops a free buffer that was not chosen by this many calls of `take`, so that the buffers of a busy hour
   * are not kept through the quiet day after it. A dropped buffer is freed only after all threads that saw it have run
   * a collection, so pools with a high turnover should not set this. Absent means never.
   */
  readonly unusedTakeCountMax?: number;
}

interface FreeBuffer {
  readonly bytes: SharedArrayBuffer;
  /** The value of the pool's counter of `take` calls when the buffer was returned. */
  readonly takenCount: number;
}

export class SharedBufferPool {
  readonly #options: SharedBufferPoolOptions;
  /** In the order in which they were returned. */
  readonly #free: FreeBuffer[] = [];
  #takenCount = 0;
  #count = 0;
  #bytes = 0;

  constructor(options: SharedBufferPoolOptions) {
    this.#options = options;
  }

  /** Returns uninitialized memory of this length, or `undefined` if the pool is exhausted. */
  take(length: number): Uint8Array | undefined {
    this.#takenCount++;
    const buffer = this.#takeFree(length) ?? this.#allocate(length);
    this.#dropUnused();
    return buffer === undefined ? undefined : new Uint8Array(buffer, 0, length);
  }

  release(bytes: SharedArrayBuffer): void {
    this.#free.push({ bytes, takenCount: this.#takenCount });
  }

  /** Takes the smallest free buffer that is long enough, among equals the most recently returned one. */
  #takeFree(length: number): SharedArrayBuffer | undefined {
    let best = -1;
    let bestLength = Number.POSITIVE_INFINITY;
    for (const [i, { bytes }] of this.#free.entries()) {
      if (bytes.byteLength < length || bytes.byteLength > bestLength) continue;
      best = i;
      bestLength = bytes.byteLength;
    }
    return best < 0 ? undefined : this.#free.splice(best, 1)[0]?.bytes;
  }

  #dropUnused(): void {
    const { unusedTakeCountMax = Number.POSITIVE_INFINITY } = this.#options;
    const isUnused = ({ takenCount }: FreeBuffer) =>
      this.#takenCount - takenCount > unusedTakeCountMax;
    while (this.#free[0] !== undefined && isUnused(this.#free[0])) {
      this.#drop(this.#free.shift());
    }
  }

  /** Allocates a buffer. If a limit is reached, the pool first drops free buffers, all of which are too short. */
  #allocate(length: number): SharedArrayBuffer | undefined {
    const { countMax, bytesMax, granuleBytes } = this.#options;
    const byteLength = (Math.floor(length / granuleBytes) + 1) * granuleBytes;
    const isFull = () => this.#count >= countMax || this.#bytes + byteLength > bytesMax;
    while (isFull() && this.#free.length > 0) this.#drop(this.#free.pop());
    if (isFull()) return undefined;
    this.#count++;
    this.#bytes += byteLength;
    return new SharedArrayBuffer(byteLength);
  }

  #drop(buffer: FreeBuffer | undefined): void {
    this.#count--;
    this.#bytes -= buffer?.bytes.byteLength ?? 0;
  }
}
