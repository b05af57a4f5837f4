/** Writes values in the binary forms of the ledger: protobuf, bincode and the form in which transactions are sent. */
import { assert } from '@sluice/base/assert';
import { decodeBase58 } from '@sluice/base/base58';

export type AnyInteger = number | bigint | string;

const bytesAtFirst = 256;

export class BinaryWriter {
  #buffer = Buffer.allocUnsafe(bytesAtFirst);
  #length = 0;

  bytes(bytes: Uint8Array | readonly number[]): this {
    const start = this.#grow(bytes.length);
    this.#buffer.set(bytes, start);
    return this;
  }

  u8(value: number): this {
    const start = this.#grow(1);
    this.#buffer[start] = value;
    return this;
  }

  u16be(value: number): this {
    return this.u8(value >> 8).u8(value & 0xff);
  }

  u32(value: number): this {
    const start = this.#grow(4);
    this.#buffer.writeUInt32LE(value, start);
    return this;
  }

  u64(value: AnyInteger): this {
    const start = this.#grow(8);
    this.#buffer.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), start);
    return this;
  }

  varint(value: AnyInteger): this {
    if (typeof value === 'number' && value >= 0 && value < 128) return this.u8(value);
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 128n; rest >>= 7n) this.u8(Number(rest & 127n) | 128);
    return this.u8(Number(rest));
  }

  /** Writes a length of 16 bits in its shortest form. */
  shortLength(value: number): this {
    return this.varint(value);
  }

  base58(text: string): this {
    const bytes = decodeBase58(text);
    assert(bytes !== undefined, 'the text is base58');
    return this.bytes(bytes);
  }

  /** Writes a text after its length in 64 bits. */
  text64(text: string): this {
    const bytes = Buffer.from(text);
    return this.u64(bytes.length).bytes(bytes);
  }

  /** Writes a protobuf field with bytes, a text or a message. */
  field(number: number, value: Uint8Array | string): this {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    return this.varint(number * 8 + 2).delimited(bytes);
  }

  /** Writes a message after its length. */
  delimited(message: Uint8Array): this {
    return this.varint(message.length).bytes(message);
  }

  /** Writes a protobuf field with an integer, unless it is 0, which protobuf omits. */
  integer(number: number, value: AnyInteger): this {
    return BigInt(value) === 0n ? this : this.presentInteger(number, value);
  }

  presentInteger(number: number, value: AnyInteger): this {
    return this.varint(number * 8).varint(value);
  }

  finish(): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(0, this.#length));
  }

  /** Returns the position of `length` new bytes. */
  #grow(length: number): number {
    const start = this.#length;
    this.#length += length;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, start));
      this.#buffer = larger;
    }
    return start;
  }
}
