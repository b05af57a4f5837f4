/** Writes the words of a decoder for the kernel. `@sluice/kernels/layout/decoding` defines its layout. */
import { Buffer } from 'node:buffer';
import * as layout from '@sluice/kernels/layout/decoding';

/** The kernel reads texts in steps of 16 bytes, so this many bytes follow the last one. */
const spareBytes = 64;

export class CodeWriter {
  readonly #words: number[] = new Array<number>(layout.DECODER_BYTES / 4).fill(0);
  /** Text that is written before the next operation. Adjacent texts become one. */
  #text = '';

  /** The offset of the next word. */
  get at(): number {
    this.#flush();
    return this.#words.length * 4;
  }

  /** Adds text to the output of the code. */
  text(text: string): void {
    this.#text += text;
  }

  words(...values: readonly number[]): void {
    this.#flush();
    for (const value of values) this.#words.push(value);
  }

  set(at: number, value: number): void {
    this.#words[at / 4] = value;
  }

  /** Writes the length of a text and its bytes. */
  bytes(bytes: Uint8Array): void {
    this.#flush();
    this.#words.push(bytes.length);
    const padded = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
    padded.set(bytes);
    for (let at = 0; at < padded.length; at += 4) this.#words.push(padded.readUInt32LE(at));
  }

  /** Writes code with its end. */
  block(write: () => void): void {
    this.#flush();
    write();
    this.words(layout.OP_END);
  }

  /** Writes an operation whose first operand is its length. `write` adds what else it consists of. */
  operation([code = 0, ...operands]: readonly number[], write: () => void): void {
    const start = this.at;
    this.words(code, 0, ...operands);
    write();
    this.set(start + 4, this.at - start);
  }

  finish(): Uint8Array {
    this.#flush();
    const bytes = Buffer.alloc(this.#words.length * 4 + spareBytes);
    for (const [i, word] of this.#words.entries()) bytes.writeInt32LE(word | 0, i * 4);
    return bytes;
  }

  #flush(): void {
    if (this.#text === '') return;
    const text = Buffer.from(this.#text);
    this.#text = '';
    this.#words.push(layout.OP_TEXT);
    this.bytes(text);
  }
}
