import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import { ensureMemory } from '@sluice/base/wasm-kernel';
import { BASE58_CHARACTERS_MAX } from './layout/reading.ts';
import { loadKernel } from './load-kernel.ts';

interface Base58Exports {
  inputAddress(): number;
  outputAddress(): number;
  memoryBytes(): number;
  initialize(): void;
  decode(length: number): number;
  encode(length: number): number;
}

/** The most bytes that the kernel encodes with tables. */
const encodedBytesMax = 1280;
/** The addresses of several blocks. Most of them occur in many transactions. */
const addressCountMax = 65_536;

/** Decodes base58 into a reused buffer, and encodes. A decoded result is valid until the next call. */
export class Base58Codec {
  /** The decoded bytes of the last text, from the start. Replaced only if a text is longer than any real one. */
  bytes: Uint8Array;
  /** The same bytes as 32-bit words in the byte order of the machine, for values of 32 bytes. */
  readonly words: Uint32Array;
  readonly #exports: Base58Exports;
  readonly #addresses = new Map<string, string>();
  readonly #input: Uint8Array;
  readonly #output: Uint8Array;

  constructor() {
    const { memory, exports } = loadKernel<Base58Exports>('base58');
    ensureMemory(memory, exports.memoryBytes());
    exports.initialize();
    this.#exports = exports;
    this.#input = new Uint8Array(memory.buffer, exports.inputAddress(), BASE58_CHARACTERS_MAX);
    this.#output = new Uint8Array(memory.buffer, exports.outputAddress(), BASE58_CHARACTERS_MAX);
    this.bytes = this.#output;
    this.words = new Uint32Array(memory.buffer, exports.outputAddress(), BASE58_CHARACTERS_MAX / 4);
  }

  /** Returns the number of decoded bytes, or -1 if the text has a character outside the alphabet. */
  decode(text: string): number {
    const { length } = text;
    if (length > BASE58_CHARACTERS_MAX) return this.#decodeLong(text);
    const input = this.#input;
    let codes = 0;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      codes |= code;
      input[i] = code;
    }
    this.bytes = this.#output;
    // A wider character would lose its high byte.
    return codes > 0xff ? -1 : this.#exports.decode(length);
  }

  /** Returns the text of some bytes. The texts of addresses are kept. */
  encode(bytes: Uint8Array): string {
    if (bytes.length !== 32) return this.#encode(bytes);
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, 32).toString('latin1');
    let text = this.#addresses.get(key);
    if (text === undefined) {
      text = this.#encode(bytes);
      if (this.#addresses.size >= addressCountMax) this.#addresses.clear();
      this.#addresses.set(key, text);
    }
    return text;
  }

  #encode(bytes: Uint8Array): string {
    if (bytes.length > encodedBytesMax) return encodeBase58(bytes);
    this.#input.set(bytes);
    const length = this.#exports.encode(bytes.length);
    const { buffer, byteOffset } = this.#output;
    return Buffer.from(buffer, byteOffset, length).toString('latin1');
  }

  #decodeLong(text: string): number {
    const bytes = decodeBase58(text);
    if (bytes === undefined) return -1;
    this.bytes = bytes;
    return bytes.length;
  }
}

let shared: Base58Codec | undefined;

/** Returns the codec of this thread. */
export function base58Codec(): Base58Codec {
  shared ??= new Base58Codec();
  return shared;
}
