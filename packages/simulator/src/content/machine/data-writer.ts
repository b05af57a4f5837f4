/** Writes instruction data and events, little-endian as programs read them, into the texts of one transaction. */
import { HEADER_BYTES, NO_TEXT, type PooledText, type TextPool } from '../text/text-pool.ts';
import type { AddressBook } from '../world/address-book.ts';

const KEY_BYTES = 32;
const UPPER_HALF = 4_294_967_296;

export class DataWriter {
  readonly #pool: TextPool;
  readonly #book: AddressBook;
  /** Whether texts are skipped, because the caller does not read them. */
  isMuted = false;
  #text = NO_TEXT;
  #at = 0;

  constructor(pool: TextPool, book: AddressBook) {
    this.#pool = pool;
    this.#book = book;
  }

  open(byteCount: number): this {
    if (this.isMuted) return this;
    this.#text = this.#pool.passing.open(byteCount);
    this.#at = this.#text + HEADER_BYTES;
    return this;
  }

  u8(value: number): this {
    if (this.isMuted) return this;
    this.#pool.bytes[this.#at++] = value;
    return this;
  }

  u32(value: number): this {
    if (this.isMuted) return this;
    const { bytes } = this.#pool;
    const at = this.#at;
    bytes[at] = value & 0xff;
    bytes[at + 1] = (value >>> 8) & 0xff;
    bytes[at + 2] = (value >>> 16) & 0xff;
    bytes[at + 3] = value >>> 24;
    this.#at = at + 4;
    return this;
  }

  /** Writes a whole number from 0 to 2^53 - 1. */
  u64(value: number): this {
    const high = Math.floor(value / UPPER_HALF);
    return this.u32((value - high * UPPER_HALF) | 0).u32(high);
  }

  bytes(values: Uint8Array): this {
    if (this.isMuted) return this;
    const { bytes } = this.#pool;
    for (let i = 0; i < values.length; i++) bytes[this.#at + i] = values[i] as number;
    this.#at += values.length;
    return this;
  }

  /** Writes the 32 bytes of an account's address. */
  key(account: number): this {
    if (this.isMuted) return this;
    const from = this.#book.bytesAt(account);
    const { bytes } = this.#pool;
    for (let i = 0; i < KEY_BYTES; i++) bytes[this.#at + i] = bytes[from + i] as number;
    this.#at += KEY_BYTES;
    return this;
  }

  done(): PooledText {
    return this.#text;
  }
}
