/** Writes values in the binary forms of the ledger, for tests and benchmarks. */
import { decodeBase58 } from '@sluice/base/base58';

export type AnyInteger = number | bigint | string;

export class BinaryWriter {
  readonly #parts: Uint8Array[] = [];

  bytes(bytes: Uint8Array | readonly number[]): this {
    this.#parts.push(Uint8Array.from(bytes));
    return this;
  }

  u8(value: number): this {
    return this.bytes([value]);
  }

  u16be(value: number): this {
    return this.bytes([value >> 8, value & 0xff]);
  }

  u32(value: number): this {
    const buffer = Buffer.alloc(4);
    buffer.writeUInt32LE(value);
    return this.bytes(buffer);
  }

  u64(value: AnyInteger): this {
    const buffer = Buffer.alloc(8);
    buffer.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
    return this.bytes(buffer);
  }

  varint(value: AnyInteger): this {
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes: number[] = [];
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    return this.bytes([...bytes, Number(rest)]);
  }

  /** Writes a length of 16 bits in its shortest form. */
  shortLength(value: number): this {
    return this.varint(value);
  }

  base58(text: string): this {
    const bytes = decodeBase58(text);
    if (bytes === undefined) throw new TypeError(`${text} is not base58`);
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
    return this.varint(number * 8 + 2)
      .varint(bytes.length)
      .bytes(bytes);
  }

  /** Writes a message after its length. */
  delimited(message: Uint8Array): this {
    return this.varint(message.length).bytes(message);
  }

  /** Writes a protobuf field with an integer, unless it is 0, which protobuf omits. */
  integer(number: number, value: AnyInteger): this {
    if (BigInt(value) === 0n) return this;
    return this.presentInteger(number, value);
  }

  presentInteger(number: number, value: AnyInteger): this {
    return this.varint(number * 8).varint(value);
  }

  finish(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.#parts));
  }
}
