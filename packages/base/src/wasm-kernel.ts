import { readFileSync } from 'node:fs';

const pageBytes = 65_536;
/** The maximum size of a 32-bit WASM memory, in pages. */
const pageCountMax = 65_536;

/** The part of a WASM memory that we use. Node's own types do not include it. */
export interface KernelMemory {
  /** Every growth replaces it, so it must be read again after any call that may grow the memory. */
  readonly buffer: ArrayBuffer;
  grow(pageCount: number): number;
}

declare const module: unique symbol;
interface KernelModule {
  readonly [module]: true;
}

const wasm = (
  globalThis as unknown as {
    readonly WebAssembly: {
      Module: new (bytes: Uint8Array) => KernelModule;
      Memory: new (limits: { initial: number; maximum: number }) => KernelMemory;
      Instance: new (module: KernelModule, imports: object) => { readonly exports: unknown };
    };
  }
).WebAssembly;

/** One instance of a kernel module with its own memory. Each thread creates its own. */
export interface Kernel<Exports> {
  readonly memory: KernelMemory;
  readonly exports: Exports;
}

const modules = new Map<string, KernelModule>();

/** Instantiates a compiled module. It is compiled once per thread, and its memory grows on demand. */
export function instantiateKernel<Exports>(file: URL, initialBytes = pageBytes): Kernel<Exports> {
  let compiled = modules.get(file.href);
  if (compiled === undefined) {
    compiled = new wasm.Module(readFileSync(file));
    modules.set(file.href, compiled);
  }
  const initial = Math.max(1, Math.ceil(initialBytes / pageBytes));
  const memory = new wasm.Memory({ initial, maximum: pageCountMax });
  const instance = new wasm.Instance(compiled, { env: { memory } });
  return { memory, exports: instance.exports as Exports };
}

/** Grows the memory until `bytes` fit. This detaches existing views. */
export function ensureMemory(memory: KernelMemory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
}
