import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import type { EngineExports } from '@sluice/kernels/engine-exports';
import { FREE_MEMORY_START } from '@sluice/kernels/layout/memory';
import { loadKernel } from '@sluice/kernels/load-kernel';

/**
 * The initial size of the memory, and the step by which it grows. V8 counts a grown memory as newly allocated and collects garbage after
 * each growth, so growth must be rare. Pages that were never written take no physical memory.
 */
const growthBytes = 1 << 28;
/** All allocations are multiples of this, so that adjacent free extents can be merged and reused. */
const grainBytes = 1_024;
/** Kernels read and write in steps of 16 and 32 bytes and may access this many bytes past the end of a buffer. */
const slackBytes = 128;

/** A key list has at most 65,536 positions, because a position has 16 bits. Each takes 32 bits here. */
const positionBytes = 65_536 * 4;

interface Extent {
  start: number;
  end: number;
}

/**
 * The kernel and its memory. A first-fit allocator manages the memory: free extents are kept in address order, and adjacent ones are
 * merged. There are at most a few thousand extents, each a column or a page.
 */
export class EngineKernel {
  readonly exports: EngineExports;
  /** The address of one word for each position of a key list: the bits of the filters that its key satisfies. */
  readonly positionScratch: number;
  readonly #kernel: Kernel<EngineExports>;
  readonly #free: Extent[] = [];
  readonly #sizes = new Map<number, number>();
  #end = FREE_MEMORY_START;
  allocatedBytes = 0;
  #bytes: Uint8Array;
  #ints: Uint32Array;

  constructor() {
    this.#kernel = loadKernel<EngineExports>('engine', growthBytes);
    this.exports = this.#kernel.exports;
    this.#bytes = new Uint8Array(this.#kernel.memory.buffer);
    this.#ints = new Uint32Array(this.#kernel.memory.buffer);
    this.positionScratch = this.allocate(positionBytes);
    this.exports.base58Initialize(this.allocate(this.exports.BASE58_TABLE_BYTES.value));
    this.exports.setDataTexts(this.#allocateZeroed(this.exports.DATA_TEXTS_BYTES.value));
    this.exports.setDecodingCache(this.#allocateZeroed(this.exports.DECODING_CACHE_BYTES.value));
  }

  /** The whole memory. A view is valid until the next allocation, which may replace the buffer. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get ints(): Uint32Array {
    return this.#ints;
  }

  allocate(byteCount: number): number {
    const size = Math.ceil((byteCount + slackBytes) / grainBytes) * grainBytes;
    const index = this.#firstFit(size);
    const start = index === this.#free.length ? this.#extend(size) : this.#take(index, size);
    this.#sizes.set(start, size);
    this.allocatedBytes += size;
    return start;
  }

  #allocateZeroed(byteCount: number): number {
    const at = this.allocate(byteCount);
    this.bytes.fill(0, at, at + byteCount);
    return at;
  }

  release(start: number): void {
    const size = this.#sizes.get(start);
    assert(size !== undefined, 'only what was allocated is released, and once');
    this.#sizes.delete(start);
    this.allocatedBytes -= size;
    const end = start + size;
    const next = this.#firstAfter(start);
    const before = this.#free[next - 1];
    const after = this.#free[next];
    const joinsBefore = before?.end === start;
    const joinsAfter = after?.start === end;
    if (joinsBefore && joinsAfter) {
      before.end = after.end;
      this.#free.splice(next, 1);
    } else if (joinsBefore) before.end = end;
    else if (joinsAfter) after.start = start;
    else this.#free.splice(next, 0, { start, end });
  }

  /** Returns the index of the first free extent that is large enough, or the number of free extents if none is. */
  #firstFit(size: number): number {
    let index = 0;
    for (const { start, end } of this.#free) {
      if (end - start >= size) break;
      index++;
    }
    return index;
  }

  #firstAfter(start: number): number {
    let low = 0;
    let high = this.#free.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (elementAt(this.#free, middle).start < start) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #take(index: number, size: number): number {
    const extent = elementAt(this.#free, index);
    const { start } = extent;
    extent.start += size;
    if (extent.start === extent.end) this.#free.splice(index, 1);
    return start;
  }

  #grow(): void {
    const { memory } = this.#kernel;
    ensureMemory(memory, Math.ceil(this.#end / growthBytes) * growthBytes);
    this.#bytes = new Uint8Array(memory.buffer);
    this.#ints = new Uint32Array(memory.buffer);
  }

  #extend(size: number): number {
    const start = this.#end;
    this.#end += size;
    if (this.#end > this.#bytes.length) this.#grow();
    return start;
  }
}
