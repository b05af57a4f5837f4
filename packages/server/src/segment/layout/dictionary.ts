import { assert } from '@sluice/base/assert';
import { base58Codec } from '@sluice/kernels/base58-codec';

export const keyBytes = 32;

/**
 * Assigns an id to each distinct 32-byte value of a segment, in order of first appearance, so that values of neighbouring blocks are on
 * neighbouring pages. Looks values up by their bytes; texts have a separate map.
 */
export class DictionaryBuilder {
  #keys = new Uint32Array(1024 * 8);
  #slots = new Int32Array(4096).fill(-1);
  readonly #texts = new Map<string, number>();
  readonly #decoder = base58Codec();
  count = 0;

  idOfText(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const length = this.#decoder.decode(text);
    assert(length === keyBytes, 'addresses and hashes are base58 of 32 bytes');
    const id = this.idOfWords(this.#decoder.words, 0);
    this.#texts.set(text, id);
    return id;
  }

  /** Returns the id of the eight words at `at`. New words get the next id. */
  idOfWords(words: Uint32Array, at: number): number {
    let slot = hashWords(words, at) & (this.#slots.length - 1);
    for (;;) {
      const id = this.#slots[slot] as number;
      if (id < 0) return this.#insert(words, at, slot);
      if (sameWords(this.#keys, id * 8, words, at)) return id;
      slot = (slot + 1) & (this.#slots.length - 1);
    }
  }

  /**
   * Looks up all keys of a table, eight words each. Returns the id of each plus one, or 0 if it has no id yet or another key is in its slot.
   * Most reads miss the processor's caches. The reads of one loop are independent, so the processor waits for several at the same time.
   */
  findAll(words: Uint32Array): Uint32Array {
    const slots = this.#slots;
    const keys = this.#keys;
    const ids = new Uint32Array(words.length / 8);
    for (let i = 0; i < ids.length; i++) ids[i] = hashWords(words, i * 8) & (slots.length - 1);
    for (let i = 0; i < ids.length; i++) ids[i] = (slots[ids[i] ?? 0] ?? 0) + 1;
    for (let i = 0; i < ids.length; i++) {
      const id = (ids[i] ?? 0) - 1;
      if (id >= 0 && !sameWords(keys, id * 8, words, i * 8)) ids[i] = 0;
    }
    return ids;
  }

  /** All keys, 32 bytes each, ordered by id. */
  get keys(): Uint8Array {
    return new Uint8Array(this.#keys.buffer, 0, this.count * keyBytes);
  }

  #insert(words: Uint32Array, at: number, slot: number): number {
    const id = this.count++;
    if (this.count * 8 > this.#keys.length) {
      const keys = new Uint32Array(this.#keys.length * 2);
      keys.set(this.#keys);
      this.#keys = keys;
    }
    // A loop is faster than `set`, which needs a view of the words.
    for (let i = 0; i < 8; i++) this.#keys[id * 8 + i] = words[at + i] ?? 0;
    this.#slots[slot] = id;
    if (this.count * 2 > this.#slots.length) this.#rehash();
    return id;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(-1);
    for (let id = 0; id < this.count; id++) {
      let slot = hashWords(this.#keys, id * 8) & (this.#slots.length - 1);
      while ((this.#slots[slot] as number) >= 0) slot = (slot + 1) & (this.#slots.length - 1);
      this.#slots[slot] = id;
    }
  }
}

function sameWords(a: Uint32Array, aAt: number, b: Uint32Array, bAt: number): boolean {
  for (let i = 0; i < 8; i++) if (a[aAt + i] !== b[bAt + i]) return false;
  return true;
}

/** Returns 32 bits that depend on all words of a key: two rounds of multiply and shift per word. Hash indexes use it too. */
export function hashWords(words: Uint32Array, at: number, count = 8): number {
  let hash = 0x9e3779b9;
  for (let i = 0; i < count; i++) {
    hash = Math.imul(hash ^ (words[at + i] as number), 0x85ebca6b);
    hash ^= hash >>> 15;
    hash = Math.imul(hash, 0xc2b2ae35);
    hash ^= hash >>> 13;
  }
  return hash >>> 0;
}
