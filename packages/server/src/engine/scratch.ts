import type { EngineKernel } from './engine-kernel.ts';

const alignment = 16;
/** Kernels write whole vectors and may write this many bytes past the end. */
const slackBytes = 64;

/** A block is as long as all blocks before it together, within these limits, or longer if more is needed at once. So there are few blocks. */
const pieceBytesMin = 1 << 18;
const pieceBytesMax = 1 << 22;

/**
 * Kernel memory for one row group, reused for the next. Allocating from it is one addition. If it is too small, another block is allocated,
 * and from the next group on one block of the combined size.
 */
export class Scratch {
  readonly #kernel: EngineKernel;
  #pieces: number[] = [];
  #at = 0;
  #end = 0;
  #bytes = 0;

  constructor(kernel: EngineKernel) {
    this.#kernel = kernel;
  }

  /** Frees everything that was reserved. */
  reset(): void {
    if (this.#pieces.length > 1) {
      this.release();
      this.#add(this.#bytes);
    }
    this.#at = this.#pieces[0] ?? 0;
  }

  /** Returns memory that is not zeroed. */
  reserve(byteCount: number): number {
    const size = Math.ceil((byteCount + slackBytes) / alignment) * alignment;
    if (this.#at + size > this.#end) {
      const usual = Math.max(pieceBytesMin, Math.min(this.#bytes, pieceBytesMax));
      const pieceBytes = Math.max(size, usual);
      this.#add(pieceBytes);
      this.#bytes += pieceBytes;
    }
    const at = this.#at;
    this.#at += size;
    return at;
  }

  reserveZeroed(byteCount: number): number {
    const at = this.reserve(byteCount);
    this.#kernel.bytes.fill(0, at, at + byteCount);
    return at;
  }

  release(): void {
    for (const at of this.#pieces) this.#kernel.release(at);
    this.#pieces = [];
    this.#end = 0;
    this.#at = 0;
  }

  #add(byteCount: number): void {
    const at = this.#kernel.allocate(byteCount);
    this.#pieces.push(at);
    this.#at = at;
    this.#end = at + byteCount;
  }
}
