/** A checksum for each chunk of the plain part of a segment, so that a piece can be verified without reading the rest. */

import { ensureMemory } from '@sluice/base/wasm-kernel';
import { FREE_MEMORY_START } from '@sluice/kernels/layout/memory';
import { codec } from './codec.ts';

/** Small enough to read for one page, and large enough for the checksums to take little space: 2 bytes per kilobyte. */
export const chunkBytes = 2_048;
const pendingChunks = 256;

/** Computes the checksums of written bytes, in the order of the file. */
export class ChunkChecksums {
  readonly #pending = new Uint8Array(pendingChunks * chunkBytes);
  readonly #sums: Uint32Array[] = [];
  #length = 0;

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + this.#pending.length - this.#length);
      this.#pending.set(part, this.#length);
      this.#length += part.length;
      at += part.length;
      if (this.#length === this.#pending.length) this.#sum();
    }
  }

  /** Returns all checksums. The last chunk may be shorter than the others. */
  finish(): Uint32Array {
    this.#sum();
    const all = new Uint32Array(this.#sums.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const sums of this.#sums) {
      all.set(sums, at);
      at += sums.length;
    }
    return all;
  }

  #sum(): void {
    const { memory, exports } = codec();
    const count = Math.ceil(this.#length / chunkBytes);
    const out = FREE_MEMORY_START + this.#length + (-this.#length & 15);
    ensureMemory(memory, out + count * 4);
    new Uint8Array(memory.buffer).set(this.#pending.subarray(0, this.#length), FREE_MEMORY_START);
    exports.checksumChunks(FREE_MEMORY_START, this.#length, chunkBytes, out);
    this.#sums.push(new Uint32Array(memory.buffer, out, count).slice());
    this.#length = 0;
  }
}

/** Returns the number of the first chunk that does not have its expected checksum, or -1. The bytes begin with a chunk. */
export function findDamagedChunk(bytes: Uint8Array, expected: Uint8Array): number {
  const { memory, exports } = codec();
  const sums = FREE_MEMORY_START + Math.ceil(bytes.length / chunkBytes) * chunkBytes;
  ensureMemory(memory, sums + expected.length);
  const target = new Uint8Array(memory.buffer);
  target.set(bytes, FREE_MEMORY_START);
  target.set(expected, sums);
  return exports.findDamagedChunk(FREE_MEMORY_START, bytes.length, chunkBytes, sums);
}
