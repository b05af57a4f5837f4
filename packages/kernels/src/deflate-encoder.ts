import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import { loadKernel } from './load-kernel.ts';

interface DeflateExports {
  inputAddress(): number;
  outputAddress(length: number): number;
  memoryBytes(length: number): number;
  deflate(length: number): number;
}

/** If the memory grew beyond this for one long text, it is discarded afterwards. */
const keptBytesMax = 4 << 20;

/**
 * Compresses texts to raw deflate. Each result ends at a byte boundary and can be decoded as soon as it arrives. Concatenated results are
 * one stream that lacks only its last block. The same text gives the same bytes on every machine.
 */
export class DeflateEncoder {
  #kernel: Kernel<DeflateExports> | undefined;

  /** The result is a view of memory that the next call overwrites. */
  encode(text: Uint8Array): Uint8Array {
    const kernel = this.#kernelFor(text.length);
    const { memory, exports } = kernel;
    new Uint8Array(memory.buffer, exports.inputAddress()).set(text);
    const length = exports.deflate(text.length);
    return new Uint8Array(memory.buffer, exports.outputAddress(text.length), length);
  }

  /** A WASM memory never shrinks, so one that is too large is replaced. */
  #kernelFor(length: number): Kernel<DeflateExports> {
    if ((this.#kernel?.memory.buffer.byteLength ?? 0) > keptBytesMax) this.#kernel = undefined;
    this.#kernel ??= loadKernel<DeflateExports>('deflate');
    ensureMemory(this.#kernel.memory, this.#kernel.exports.memoryBytes(length));
    return this.#kernel;
  }
}

let shared: DeflateEncoder | undefined;

/** Returns the encoder of this thread. */
export function deflateEncoder(): DeflateEncoder {
  shared ??= new DeflateEncoder();
  return shared;
}
