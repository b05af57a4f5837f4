/**
 * A bounds-checked cursor over bytes of a source. A value that does not fit into its range, or that is not in the canonical form of its
 * format, throws an error with its offset. Nothing is allocated before the length of a value was compared with the bytes that are left.
 */
import { CodedError } from '@sluice/base/errors';
import { base58Codec } from '@sluice/kernels/base58-codec';
import type { Slot } from '@sluice/ledger/primitives';

/** Which bytes a cursor reads. Offsets in errors are relative to them. */
export interface BytesOrigin {
  readonly slot: Slot;
  /** Such as `block` or `metadata`: compressed parts of a block have offsets of their own. */
  readonly part: string;
  readonly transaction?: number;
}

/** Integers up to this limit are numbers; larger ones are bigints, as in `json/read-integer.ts`. */
const numberMax = 999_999_999_999_999;
/** Three times the longest instruction data that a ledger executes. The time to encode grows with the square of the length. */
const base58BytesMax = 32 * 1024;
const u64Mask = 2n ** 64n - 1n;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The mark of long integers for a `BlockReader`: they are bigints here, and half a surrogate pair is in no text that was UTF-8. */
export const noMark = '\ud800';

export type Integer = number | bigint;

export class ByteCursor {
  readonly bytes: Uint8Array;
  readonly origin: BytesOrigin;
  #lazyView: DataView | undefined;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array, origin: BytesOrigin, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.origin = origin;
    this.at = at;
    this.end = end;
  }

  get #view(): DataView {
    const { buffer, byteOffset, byteLength } = this.bytes;
    this.#lazyView ??= new DataView(buffer, byteOffset, byteLength);
    return this.#lazyView;
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  /** Throws the error of invalid bytes. */
  fail(fault: string, offset = this.at): never {
    throw new CodedError('block-bytes-invalid', { ...this.origin, offset, fault });
  }

  /** Moves over `length` bytes and returns their start. */
  skip(length: number): number {
    const start = this.at;
    if (length > this.end - start) {
      this.fail(`a value of ${length} bytes where ${this.end - start} are left`);
    }
    this.at = start + length;
    return start;
  }

  take(length: number): Uint8Array {
    const start = this.skip(length);
    return this.bytes.subarray(start, start + length);
  }

  /** Returns a cursor over the next `length` bytes and moves behind them. */
  cut(length: number): ByteCursor {
    const start = this.skip(length);
    return new ByteCursor(this.bytes, this.origin, start, start + length);
  }

  /** Throws unless all bytes were read. */
  expectEnd(): void {
    if (this.at < this.end) this.fail(`${this.end - this.at} bytes after the last value`);
  }

  u8(): number {
    const at = this.skip(1);
    return this.bytes[at] ?? 0;
  }

  /** Moves over the next byte if it has this value. */
  takeByte(value: number): boolean {
    const isTaken = this.at < this.end && this.bytes[this.at] === value;
    if (isTaken) this.at++;
    return isTaken;
  }

  u32(): number {
    return this.#view.getUint32(this.skip(4), true);
  }

  u64(): Integer {
    return toInteger(this.#view.getBigUint64(this.skip(8), true));
  }

  i64(): Integer {
    return toInteger(this.#view.getBigInt64(this.skip(8), true));
  }

  /** Reads a length of 64 bits, which must not exceed the bytes that are left. */
  length64(): number {
    const length = this.u64();
    if (length > this.end - this.at) this.fail(`a length of ${length}`, this.at - 8);
    return Number(length);
  }

  /** Reads a varint of at most 64 bits: seven bits a byte, least significant first. */
  varint(): Integer {
    const start = this.at;
    const first = this.bytes[start] ?? 0;
    if (first < 0x80 && start < this.end) {
      this.at = start + 1;
      return first;
    }
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 7; count++, scale *= 128) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value <= numberMax ? value : BigInt(value);
    }
    let long = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.u8();
      long |= BigInt(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if (long > u64Mask) this.fail('a varint of more than 64 bits', start);
      return toInteger(long);
    }
    return this.fail('a varint of more than ten bytes', start);
  }

  /** Reads a varint that is a length, and cannot be larger than the bytes that are left. */
  varintLength(): number {
    const start = this.at;
    const length = this.varint();
    if (length > this.end - this.at) {
      this.fail(`a length of ${length} where ${this.end - this.at} bytes are left`, start);
    }
    return Number(length);
  }

  /** Reads a length of 16 bits in one to three bytes. The ledger accepts only the shortest form. */
  shortLength(): number {
    const start = this.at;
    const first = this.u8();
    if (first < 0x80) return first;
    const second = this.u8();
    if (second === 0) this.fail('a length that is not in its shortest form', start);
    if (second < 0x80) return (first & 0x7f) | (second << 7);
    const third = this.u8();
    if (third === 0) this.fail('a length that is not in its shortest form', start);
    if (third > 3) this.fail('a length of more than 16 bits', start);
    return (first & 0x7f) | ((second & 0x7f) << 7) | (third << 14);
  }

  text(length: number): string {
    const start = this.at;
    const bytes = this.take(length);
    try {
      // The decoder does not accept shared memory.
      return utf8.decode(bytes.buffer instanceof SharedArrayBuffer ? bytes.slice() : bytes);
    } catch {
      return this.fail('a text that is not UTF-8', start);
    }
  }

  base58(length: number): string {
    if (length > base58BytesMax)
      this.fail(`${length} bytes for a value of at most ${base58BytesMax}`);
    return base58Codec().encode(this.take(length));
  }
}

export function toInteger(value: bigint): Integer {
  return value <= numberMax && value >= -numberMax ? Number(value) : value;
}
