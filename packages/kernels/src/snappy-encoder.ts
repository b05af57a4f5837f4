import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import { loadKernel } from './load-kernel.ts';

interface SnappyExports {
  inputAddress(): number;
  outputAddress(length: number): number;
  memoryBytes(length: number): number;
  compress(length: number): number;
}

/** Compresses bytes in the Snappy format. The same bytes give the same result on every machine. */
export class SnappyEncoder {
  readonly #kernel: Kernel<SnappyExports> = loadKernel<SnappyExports>('snappy');

  /** The result is a view of memory that the next call overwrites. */
  encode(bytes: Uint8Array): Uint8Array {
    const { memory, exports } = this.#kernel;
    ensureMemory(memory, exports.memoryBytes(bytes.length));
    new Uint8Array(memory.buffer, exports.inputAddress()).set(bytes);
    const length = exports.compress(bytes.length);
    return new Uint8Array(memory.buffer, exports.outputAddress(bytes.length), length);
  }
}
