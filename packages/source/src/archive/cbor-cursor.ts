import type { ByteCursor, Integer } from '../binary/byte-cursor.ts';
import { toInteger } from '../binary/byte-cursor.ts';

const major = { unsigned: 0, negative: 1, bytes: 2, list: 4, tag: 6, simple: 7 } as const;
const nullByte = 0xf6;
/** The tag of a link. Its value is a byte string: a zero byte and the CID. */
const linkTag = 42;

/** Reads the few kinds of CBOR values that the nodes of an archive have: integers, byte strings, lists, links and null. */
export class CborCursor {
  readonly bytes: ByteCursor;

  constructor(bytes: ByteCursor) {
    this.bytes = bytes;
  }

  /** Reads a list and returns the number of its elements, each of which has at least one byte. */
  list(): number {
    const start = this.bytes.at;
    const count = this.#head(major.list);
    if (count > this.bytes.end - this.bytes.at) {
      this.bytes.fail(`a list of ${count} elements`, start);
    }
    return Number(count);
  }

  unsigned(): Integer {
    return this.#head(major.unsigned);
  }

  /** Reads a byte string as a cursor over it. */
  part(): ByteCursor {
    const start = this.bytes.at;
    const length = this.#head(major.bytes);
    if (length > this.bytes.end - this.bytes.at) {
      this.bytes.fail(`a byte string of ${length} bytes`, start);
    }
    return this.bytes.cut(Number(length));
  }

  isNull(): boolean {
    return this.bytes.bytes[this.bytes.at] === nullByte && !this.bytes.isAtEnd;
  }

  /** Reads null or an unsigned integer. */
  optionalUnsigned(): Integer | null {
    return this.takeNull() ? null : this.unsigned();
  }

  /** Reads null or 64 bits that are written as an unsigned or a negative integer. */
  optionalBits(): bigint | null {
    if (this.takeNull()) return null;
    const start = this.bytes.at;
    const type = (this.bytes.bytes[start] ?? 0) >> 5;
    if (type === major.unsigned) return BigInt(this.unsigned());
    return BigInt.asUintN(64, -1n - BigInt(this.#head(major.negative)));
  }

  takeNull(): boolean {
    if (!this.isNull()) return false;
    this.bytes.skip(1);
    return true;
  }

  /** Reads a link and returns a cursor over its CID. */
  link(): ByteCursor {
    const start = this.bytes.at;
    if (this.#head(major.tag) !== linkTag) this.bytes.fail('a tag that is not a link', start);
    const cid = this.part();
    if (cid.isAtEnd || cid.u8() !== 0) cid.fail('a link without its leading zero byte', start);
    return cid;
  }

  /** Skips a value of any of these kinds, with lists up to a depth. */
  skip(depthMax = 4): void {
    const start = this.bytes.at;
    if (this.takeNull()) return;
    const type = (this.bytes.bytes[start] ?? 0) >> 5;
    if (type === major.bytes) this.part();
    else if (type === major.tag) this.link();
    else if (type === major.negative) this.#head(major.negative);
    else if (type !== major.list) this.unsigned();
    else {
      if (depthMax === 0) this.bytes.fail('lists that are nested too deeply', start);
      for (let left = this.list(); left > 0; left--) this.skip(depthMax - 1);
    }
  }

  /** Reads the first byte of a value, which must be of this type, and the number after it. */
  #head(expected: number): Integer {
    const { bytes } = this;
    const start = bytes.at;
    const first = bytes.u8();
    if (first >> 5 !== expected) bytes.fail(`a CBOR value of the type ${first >> 5}`, start);
    const size = first & 0x1f;
    if (size < 24) return size;
    if (size > 27) bytes.fail(`a CBOR length of the kind ${size}`, start);
    let value = 0n;
    for (const byte of bytes.take(1 << (size - 24))) value = (value << 8n) | BigInt(byte);
    return toInteger(value);
  }
}
