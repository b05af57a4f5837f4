import { decodeBase58 } from '../base/base58.ts';
import { BASE58_CHARACTERS_MAX } from './layout/reading.ts';
import { ensureMemory, loadKernel } from './load-kernel.ts';

interface Base58Exports {
  inputAddress(): number;
  outputAddress(): number;
  memoryBytes(): number;
  initialize(): void;
  decode(length: number): number;
}

/** Decodes base58 into memory that is used again: what was decoded stays until the next text is. */
export class Base58Decoder {
  /** The bytes of the last text, from the start. Replaced only by a text longer than any real one. */
  bytes: Uint8Array;
  /** The same bytes as words of the machine, for those that are 32 of them. */
  readonly words: Uint32Array;
  readonly #exports: Base58Exports;
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

  /** How many bytes the text stands for; -1 if a character is not of the alphabet. */
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
    // A byte would keep only the low half of a wider character.
    return codes > 0xff ? -1 : this.#exports.decode(length);
  }

  #decodeLong(text: string): number {
    const bytes = decodeBase58(text);
    if (bytes === undefined) return -1;
    this.bytes = bytes;
    return bytes.length;
  }
}

let shared: Base58Decoder | undefined;

/** The thread's decoder. */
export function base58Decoder(): Base58Decoder {
  shared ??= new Base58Decoder();
  return shared;
}
