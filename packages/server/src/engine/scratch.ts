import type { EngineKernel } from './engine-kernel.ts';

const alignment = 16;

/**
 * Memory of the kernel for the time of one row group, used again for the next: taking it is an addition. It comes zeroed.
 * Where the room does not suffice another piece is taken, and from the next group on one piece that holds both.
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

  /** All that was reserved is free again. */
  reset(): void {
    if (this.#pieces.length > 1) {
      this.release();
      this.#add(this.#bytes);
    }
    this.#at = this.#pieces[0] ?? 0;
  }

  reserve(byteCount: number): number {
    const size = Math.ceil(byteCount / alignment) * alignment;
    if (this.#at + size > this.#end) {
      this.#add(size);
      this.#bytes += size;
    }
    const at = this.#at;
    this.#at += size;
    this.#kernel.bytes.fill(0, at, at + size);
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
