import { randomInt } from 'node:crypto';
import { ByteSink } from './byte-sink.ts';

const lengthBytes = 4;
const firstSlots = 1_024;

/** Distinct texts in the order of first use. Parquet stores each text after its length. */
export class TextTable {
  readonly #texts = new ByteSink();
  /** Where each text begins. */
  #starts = new Uint32Array(firstSlots);
  /** A hash table of the numbers of texts, plus 1; 0 is a free slot. A text is at the low bits of its hash or in the next free slot. */
  #slots = new Uint32Array(firstSlots * 2);
  #hashes = new Int32Array(firstSlots);
  count = 0;

  get bytes(): Uint8Array {
    return this.#texts.bytes;
  }

  /** Returns the number of a text. A new text is added. */
  numberOf(bytes: DataView, start: number, end: number): number {
    const hash = hashOf(bytes, start, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = (this.#slots[slot] ?? 0) - 1;
      if (number < 0) {
        this.#slots[slot] = this.count + 1;
        return this.#add(bytes, start, end, hash);
      }
      if (this.#hashes[number] === hash && this.#isSame(number, bytes, start, end)) return number;
    }
  }

  #isSame(number: number, bytes: DataView, start: number, end: number): boolean {
    let at = this.#starts[number] ?? 0;
    const known = this.#texts.view;
    if (known.getUint32(at, true) !== end - start) return false;
    at += lengthBytes;
    let from = start;
    for (; from + 4 <= end; from += 4, at += 4)
      if (known.getUint32(at) !== bytes.getUint32(from)) return false;
    for (; from < end; from++, at++) if (known.getUint8(at) !== bytes.getUint8(from)) return false;
    return true;
  }

  #add(bytes: DataView, start: number, end: number, hash: number): number {
    const number = this.count++;
    this.#starts[number] = this.#texts.length;
    this.#hashes[number] = hash;
    const text = new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
    this.#texts.uint32(text.length);
    this.#texts.append(text);
    if (this.count === this.#starts.length) this.#grow();
    return number;
  }

  #grow(): void {
    const size = this.count * 2;
    const [starts, hashes] = [new Uint32Array(size), new Int32Array(size)];
    starts.set(this.#starts);
    hashes.set(this.#hashes);
    [this.#starts, this.#hashes] = [starts, hashes];
    this.#slots = new Uint32Array(size * 2);
    const mask = this.#slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      let slot = (hashes[number] ?? 0) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = number + 1;
    }
  }

  release(): void {
    this.#texts.release();
  }
}

/** Each process has another start value, so that nobody can choose texts with equal hashes. */
const seed = randomInt(2 ** 32) | 0;

/** FNV-1a over units of four bytes and then over the remaining bytes. */
function hashOf(bytes: DataView, start: number, end: number): number {
  let hash = seed;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ bytes.getInt32(at), 0x01000193);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ bytes.getUint8(at), 0x01000193);
  return hash ^ (hash >>> 15);
}
