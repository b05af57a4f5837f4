/**
 * Fields in the binary form of COPY: the length of each and its bytes, or the length -1 for null. Integers are big-endian.
 */
import { base58LengthMax, writeBase58 } from '@sluice/base/base58';

const startBytes = 1 << 12;
/** A remainder of 12 digits is aligned without exceeding a safe integer. */
export const shiftMax = 12;

export class FieldBuffer {
  #bytes = Buffer.allocUnsafeSlow(startBytes);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  get byteCount(): number {
    return this.#at;
  }

  /** The fields. The bytes are overwritten after `clear`. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  clear(): void {
    this.#at = 0;
  }

  reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + count));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  writeInt32(value: number): void {
    this.reserve(4);
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  /** Starts a field whose length is not known yet, and returns where it starts. */
  openField(): number {
    this.writeInt32(0);
    return this.#at;
  }

  closeField(start: number): void {
    this.#view.setInt32(start - 4, this.#at - start);
  }

  writeNull(): void {
    this.writeInt32(-1);
  }

  writeField(bytes: Uint8Array): void {
    this.reserve(4 + bytes.length);
    this.#view.setInt32(this.#at, bytes.length);
    this.#bytes.set(bytes, this.#at + 4);
    this.#at += 4 + bytes.length;
  }

  /** Writes a part of other bytes. Most parts are as short as an address, for which words are faster than a call that copies bytes. */
  writeSlice(from: DataView, start: number, end: number): void {
    this.reserve(4 + end - start);
    const to = this.#view;
    let at = this.#at;
    to.setInt32(at, end - start);
    at += 4;
    let next = start;
    for (; next + 4 <= end; next += 4, at += 4) to.setInt32(at, from.getInt32(next));
    for (; next < end; next++, at++) to.setUint8(at, from.getUint8(next));
    this.#at = at;
  }

  writeText(text: string): void {
    const most = text.length * 3;
    this.reserve(4 + most);
    const count = this.#bytes.write(text, this.#at + 4);
    this.#view.setInt32(this.#at, count);
    this.#at += 4 + count;
  }

  /** Writes bytes as a text in base58. */
  writeBase58(bytes: Uint8Array): void {
    this.reserve(4 + base58LengthMax(bytes.length));
    const count = writeBase58(bytes, this.#bytes, this.#at + 4);
    this.#view.setInt32(this.#at, count);
    this.#at += 4 + count;
  }

  /** The version of jsonb is a byte before its text. */
  writeJson(text: string): void {
    this.reserve(5 + text.length * 3);
    const count = this.#bytes.write(text, this.#at + 5);
    this.#view.setInt32(this.#at, count + 1);
    this.#bytes[this.#at + 4] = 1;
    this.#at += 5 + count;
  }

  writeBoolean(value: boolean): void {
    this.reserve(5);
    this.#view.setInt32(this.#at, 1);
    this.#bytes[this.#at + 4] = value ? 1 : 0;
    this.#at += 5;
  }

  writeSmallint(value: number): void {
    this.reserve(6);
    this.#view.setInt32(this.#at, 2);
    this.#view.setInt16(this.#at + 4, value);
    this.#at += 6;
  }

  writeInteger(value: number): void {
    this.writeInt32(4);
    this.writeInt32(value);
  }

  /** Writes a 64-bit integer, which is given as its upper and its lower 32 bits. */
  writeLong(high: number, low: number): void {
    this.reserve(12);
    this.#view.setInt32(this.#at, 8);
    this.#view.setInt32(this.#at + 4, high);
    this.#view.setInt32(this.#at + 8, low);
    this.#at += 12;
  }

  writeDouble(value: number): void {
    this.reserve(12);
    this.#view.setInt32(this.#at, 8);
    this.#view.setFloat64(this.#at + 4, value);
    this.#at += 12;
  }

  /**
   * Writes a numeric that is a safe integer divided by a power of ten with at most `shiftMax` digits, which needs no text in between. Every
   * intermediate value is a safe integer too.
   */
  writeSafeNumeric(value: number, digitCount = 0): void {
    this.reserve(48);
    const divisor = 10 ** digitCount;
    const rest = value % divisor;
    const whole = (value - rest) / divisor;
    let wholeCount = 0;
    for (let left = whole; left > 0; left = Math.floor(left / 10_000)) wholeCount++;
    const fractionCount = Math.ceil(digitCount / 4);
    const count = wholeCount + fractionCount;
    const view = this.#view;
    view.setInt32(this.#at, 8 + count * 2);
    view.setInt16(this.#at + 4, count);
    view.setInt16(this.#at + 6, count === 0 ? 0 : wholeCount - 1);
    view.setInt32(this.#at + 8, digitCount);
    this.#at += 12;
    this.#writeDigits(whole, wholeCount);
    this.#writeDigits(rest * 10 ** (fractionCount * 4 - digitCount), fractionCount);
  }

  /** Writes digits of base 10,000. */
  #writeDigits(value: number, count: number): void {
    let rest = value;
    for (let i = count - 1; i >= 0; i--) {
      const higher = Math.floor(rest / 10_000);
      this.#view.setInt16(this.#at + i * 2, rest - higher * 10_000);
      rest = higher;
    }
    this.#at += count * 2;
  }

  /** Writes a numeric of decimal text. */
  writeNumeric(text: string): void {
    this.writeField(encodeNumeric(text));
  }
}

/** Returns decimal text, such as `-12.050`, in the binary form of a numeric: digits of base 10,000, aligned at the decimal point. */
function encodeNumeric(text: string): Uint8Array {
  const isNegative = text.startsWith('-');
  const [whole = '', fraction = ''] = (isNegative ? text.slice(1) : text).split('.');
  const digits = [
    ...groupsOf(whole.padStart(Math.ceil(whole.length / 4) * 4, '0')),
    ...groupsOf(fraction.padEnd(Math.ceil(fraction.length / 4) * 4, '0')),
  ];
  const bytes = new DataView(new ArrayBuffer(8 + digits.length * 2));
  bytes.setInt16(0, digits.length);
  bytes.setInt16(2, Math.ceil(whole.length / 4) - 1);
  bytes.setUint16(4, isNegative ? 0x4000 : 0);
  bytes.setInt16(6, fraction.length);
  for (const [i, digit] of digits.entries()) bytes.setInt16(8 + i * 2, digit);
  return new Uint8Array(bytes.buffer);
}

function groupsOf(text: string): number[] {
  return Array.from({ length: text.length / 4 }, (_, i) => Number(text.slice(i * 4, i * 4 + 4)));
}
