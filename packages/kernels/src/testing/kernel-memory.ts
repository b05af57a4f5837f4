/** The memory of a kernel under test: writes values, reads values, and detects writes to other memory. */
import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import { loadKernel } from '../load-kernel.ts';

const heapStart = 65_536;
const guardByte = 0xa5;
/** Reserved after everything else, to detect a kernel that writes too far. */
const spareBytes = 4_096;

export class KernelUnderTest<Exports> {
  readonly exports: Exports;
  readonly #kernel: Kernel<Exports>;
  #start = heapStart;
  #end = heapStart;

  /** Takes a kernel, or the name of one of the server's. */
  constructor(kernel: string | Kernel<Exports>) {
    this.#kernel = typeof kernel === 'string' ? loadKernel<Exports>(kernel) : kernel;
    ensureMemory(this.#kernel.memory, 1 << 22);
    this.exports = this.#kernel.exports;
    this.keep();
  }

  /** Frees everything that was placed, except what is kept. */
  reset(): void {
    new Uint8Array(this.#kernel.memory.buffer).fill(guardByte, this.#start, this.#end + spareBytes);
    this.#end = this.#start;
  }

  /** Keeps everything that was placed so far, such as tables that a kernel always needs. */
  keep(): void {
    this.#start = this.#end;
    new Uint8Array(this.#kernel.memory.buffer).fill(guardByte, this.#start);
  }

  /** Reserves bytes at an 8-byte boundary, with a gap of 16 bytes to other values. */
  reserve(byteCount: number): number {
    const at = this.#end;
    this.#end = Math.ceil((at + byteCount + 16) / 8) * 8;
    ensureMemory(this.#kernel.memory, this.#end + spareBytes);
    return at;
  }

  bytes(values: Uint8Array | readonly number[]): number {
    const at = this.reserve(values.length);
    new Uint8Array(this.#kernel.memory.buffer).set(values, at);
    return at;
  }

  ints(values: readonly number[] | Uint32Array, width: 1 | 2 | 4 = 4): number {
    const at = this.reserve(values.length * width);
    const view = new DataView(this.#kernel.memory.buffer, at);
    values.forEach((value, i) => {
      if (width === 1) view.setUint8(i, value);
      else if (width === 2) view.setUint16(i * 2, value, true);
      else view.setUint32(i * 4, value, true);
    });
    return at;
  }

  longs(values: readonly bigint[]): number {
    const at = this.reserve(values.length * 8);
    new BigUint64Array(this.#kernel.memory.buffer, at, values.length).set(values);
    return at;
  }

  read(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#kernel.memory.buffer, at, length).slice();
  }

  readInts(at: number, count: number): number[] {
    return [...new Uint32Array(this.read(at, count * 4).buffer)];
  }

  readLongs(at: number, count: number): bigint[] {
    return [...new BigUint64Array(this.read(at, count * 8).buffer)];
  }

  readText(at: number, end: number): string {
    return Buffer.from(this.read(at, end - at)).toString('latin1');
  }

  /** Returns whether all bytes of the range still have the value from `reset`. */
  isUntouched(at: number, length: number): boolean {
    return this.read(at, length).every((byte) => byte === guardByte);
  }
}
