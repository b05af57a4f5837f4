/** Reads byte ranges of the uncompressed part of a segment into the kernel's memory and verifies the chunks that contain them. */
import { chunkBytes } from '../segment/encoding/chunk-checksums.ts';
import { damaged } from '../segment/encoding/unit.ts';
import type { Segment } from '../segment/read/open-segment.ts';
import type { EngineKernel } from './engine-kernel.ts';

/** Counts what a run has read. */
export interface LoadMeter {
  pagesRead: number;
  bytesRead: number;
  bytesInflated: number;
}

export class PlainReader {
  readonly #kernel: EngineKernel;
  readonly #segment: Segment;
  #checksums = 0;

  constructor(kernel: EngineKernel, segment: Segment) {
    this.#kernel = kernel;
    this.#segment = segment;
  }

  /** Returns the range, extended to whole chunks. */
  chunksOf(offset: number, length: number): { start: number; length: number } {
    const start = offset - (offset % chunkBytes);
    const end = Math.ceil((offset + length) / chunkBytes) * chunkBytes;
    return { start, length: Math.min(end, this.#segment.directory.plainBytes) - start };
  }

  /** Reads whole chunks to `target`. Errors use `name` for them. */
  read(start: number, length: number, target: number, name: string): void {
    const checksums = this.#loadChecksums() + (start / chunkBytes) * 4;
    const { bytes, exports } = this.#kernel;
    const count = this.#segment.bytes.readInto(start, bytes.subarray(target, target + length));
    if (count !== length) throw damaged(name, 'it is truncated');
    const chunk = exports.findDamagedChunk(target, length, chunkBytes, checksums);
    if (chunk < 0) return;
    const at = start + chunk * chunkBytes;
    throw damaged(name, `the checksum of the bytes from ${at} on does not match`);
  }

  release(): void {
    if (this.#checksums !== 0) this.#kernel.release(this.#checksums);
    this.#checksums = 0;
  }

  #loadChecksums(): number {
    if (this.#checksums === 0) {
      const { checksums } = this.#segment;
      this.#checksums = this.#kernel.allocate(checksums.length);
      this.#kernel.bytes.set(checksums, this.#checksums);
    }
    return this.#checksums;
  }
}
