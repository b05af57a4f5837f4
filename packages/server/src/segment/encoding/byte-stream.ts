/** Reads and writes the numbers of 32 and 64 bits of a segment's directory. */
import { damaged, readEntry, type UnitEntry, unitEntryBytes, writeEntry } from './unit.ts';

export class ByteWriter {
  #bytes = new Uint8Array(4_096);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  ints(...values: readonly number[]): void {
    this.#reserve(values.length * 4);
    for (const value of values) {
      this.#view.setInt32(this.#length, value, true);
      this.#length += 4;
    }
  }

  long(value: number): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#length, BigInt(value), true);
    this.#length += 8;
  }

  entry(entry: UnitEntry): void {
    this.#reserve(unitEntryBytes);
    writeEntry(this.#view, this.#length, entry);
    this.#length += unitEntryBytes;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const bytes = new Uint8Array(Math.max(this.#length + count, this.#bytes.length * 2));
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

export class ByteReader {
  readonly #view: DataView;
  readonly #name: string;
  #at = 0;

  /** `name` is the name of the bytes in errors. */
  constructor(bytes: Uint8Array, name: string) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#name = name;
  }

  int(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  long(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true));
  }

  entry(): UnitEntry {
    return readEntry(this.#view, this.#take(unitEntryBytes));
  }

  /** Reads a list. A count that exceeds the remaining bytes is refused before anything is allocated. */
  many<Value>(count: number, read: (reader: ByteReader) => Value): Value[] {
    this.checkCount(count);
    const values: Value[] = [];
    for (let i = 0; i < count; i++) values.push(read(this));
    return values;
  }

  /** Refuses a count of values that exceeds the bytes. */
  checkCount(count: number): void {
    if (count * 4 > this.#view.byteLength) throw damaged(this.#name, 'it ends too early');
  }

  #take(count: number): number {
    if (this.#at + count > this.#view.byteLength) throw damaged(this.#name, 'it ends too early');
    this.#at += count;
    return this.#at - count;
  }
}
