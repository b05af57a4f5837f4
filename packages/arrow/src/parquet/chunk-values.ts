/** The values of a column of a row group, as Parquet stores them. */
import { elementAt } from '@sluice/base/element-at';
import type { ColumnData } from '../arrow-type.ts';
import { type Dictionary, intsOf } from '../ipc-reader.ts';
import { ByteSink } from './byte-sink.ts';
import type { LeafType } from './file-schema.ts';
import { bitsFor, writeHybrid } from './hybrid-encoding.ts';
import { TextTable } from './text-table.ts';

/** The number of an encoding in the file. */
export const ENCODINGS = { plain: 0, hybrid: 3, dictionary: 8 } as const;

export interface EncodedValues {
  readonly encoding: number;
  /** The different values, to which those in the page refer. */
  readonly dictionary?: { readonly bytes: Uint8Array; readonly count: number };
  /** The smallest and the largest value. */
  readonly bounds?: { readonly min: Uint8Array; readonly max: Uint8Array } | undefined;
}

export interface ChunkValues {
  /** Appends the values of rows; a negative row has no value. Returns how many were appended. */
  append(column: ColumnData, rows: Int32Array, dictionary: Dictionary): number;
  /** Appends the values of adjacent rows without nulls, if that is possible without reading each row. */
  appendRange?(column: ColumnData, start: number, end: number): void;
  /** Appends the values to a page. */
  encode(page: ByteSink): EncodedValues;
  /** Frees the memory of the values. */
  release(): void;
}

export function valuesFor(type: LeafType): ChunkValues {
  switch (type.kind) {
    case 'bool':
      return new BoolValues();
    case 'int':
      return new FixedValues(type.bits / 8, type);
    case 'timestamp':
      return new FixedValues(8, type);
    case 'fixedBinary':
      return new FixedValues(type.byteCount, type);
    case 'dictionary':
      return new TextValues();
    default:
      return new BytesValues();
  }
}

class BoolValues implements ChunkValues {
  readonly #bits = new ByteSink();

  append({ buffers }: ColumnData, rows: Int32Array): number {
    const bits = elementAt(buffers, 1);
    const before = this.#bits.length;
    for (const row of rows) if (row >= 0) this.#bits.byte(((bits[row >> 3] ?? 0) >> (row & 7)) & 1);
    return this.#bits.length - before;
  }

  encode(page: ByteSink): EncodedValues {
    const { bytes, length } = this.#bits;
    for (let i = 0; i < length; i += 8) {
      let packed = 0;
      for (let bit = 0; bit < 8; bit++) packed |= (bytes[i + bit] ?? 0) << bit;
      page.byte(packed);
    }
    return { encoding: ENCODINGS.plain };
  }

  release(): void {
    this.#bits.release();
  }
}

class FixedValues implements ChunkValues {
  readonly #width: number;
  readonly #type: LeafType;
  readonly #values = new ByteSink();

  constructor(width: number, type: LeafType) {
    this.#width = width;
    this.#type = type;
  }

  append(column: ColumnData, rows: Int32Array): number {
    const before = this.#values.length;
    // Items of lists are adjacent, and so are most rows without a null.
    for (let i = 0; i < rows.length; ) {
      const first = rows[i++] ?? -1;
      if (first < 0) continue;
      let next = first + 1;
      while (i < rows.length && rows[i] === next) {
        next++;
        i++;
      }
      this.appendRange(column, first, next);
    }
    return (this.#values.length - before) / this.#width;
  }

  appendRange({ buffers }: ColumnData, start: number, end: number): void {
    const width = this.#width;
    this.#values.append(elementAt(buffers, 1).subarray(start * width, end * width));
  }

  encode(page: ByteSink): EncodedValues {
    // The memory of a sink begins at a multiple of 8.
    const { bytes } = this.#values;
    const type = this.#type;
    if (type.kind === 'timestamp') secondsToMilliseconds(bytes);
    const isSigned = type.kind === 'timestamp' || (type.kind === 'int' && type.isSigned);
    const bounds = type.kind === 'fixedBinary' ? undefined : boundsOf(bytes, this.#width, isSigned);
    page.append(bytes);
    return { encoding: ENCODINGS.plain, bounds };
  }

  release(): void {
    this.#values.release();
  }
}

/** Adjacent rows mostly have the same time, because they belong to one block. */
function secondsToMilliseconds({ buffer, byteOffset, length }: Uint8Array): void {
  const halves = new Uint32Array(buffer, byteOffset, length >> 2);
  const times = new BigInt64Array(buffer, byteOffset, length >> 3);
  let [low, high, milliseconds] = [0, 0, 0n];
  for (let i = 0; i < times.length; i++) {
    const [nextLow, nextHigh] = [elementAt(halves, i * 2), elementAt(halves, i * 2 + 1)];
    if (nextLow !== low || nextHigh !== high) {
      [low, high] = [nextLow, nextHigh];
      milliseconds = elementAt(times, i) * 1000n;
    }
    times[i] = milliseconds;
  }
}

/** Returns the smallest and the largest integer. Integers of 8 bytes are compared in halves. */
function boundsOf(bytes: Uint8Array, width: number, isSigned: boolean) {
  const { buffer, byteOffset, length } = bytes;
  if (length === 0) return undefined;
  const lows = new Uint32Array(buffer, byteOffset, length >> 2);
  const tops = isSigned ? new Int32Array(buffer, byteOffset, length >> 2) : lows;
  const step = width / 4;
  let [min, max] = [0, 0];
  let [minTop, maxTop] = [tops[step - 1] ?? 0, tops[step - 1] ?? 0];
  let [minLow, maxLow] = [lows[0] ?? 0, lows[0] ?? 0];
  for (let at = step; at < lows.length; at += step) {
    const top = tops[at + step - 1] ?? 0;
    const low = lows[at] ?? 0;
    if (top < minTop || (top === minTop && low < minLow)) [min, minTop, minLow] = [at, top, low];
    else if (top > maxTop || (top === maxTop && low > maxLow))
      [max, maxTop, maxLow] = [at, top, low];
  }
  const valueAt = (at: number) => bytes.slice(at * 4, at * 4 + width);
  return { min: valueAt(min), max: valueAt(max) };
}

class BytesValues implements ChunkValues {
  readonly #values = new ByteSink();

  append({ buffers }: ColumnData, rows: Int32Array): number {
    const starts = intsOf(buffers[1]);
    const bytes = elementAt(buffers, 2);
    let count = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] ?? -1;
      if (row < 0) continue;
      const [start, end] = [starts[row] ?? 0, starts[row + 1] ?? 0];
      this.#values.uint32(end - start);
      this.#values.append(bytes.subarray(start, end));
      count++;
    }
    return count;
  }

  encode(page: ByteSink): EncodedValues {
    page.append(this.#values.bytes);
    return { encoding: ENCODINGS.plain };
  }

  release(): void {
    this.#values.release();
  }
}

/** The texts of a stream's dictionary. The file contains each text once, in the order of first use. */
class TextValues implements ChunkValues {
  readonly #texts = new TextTable();
  #indexes = new Uint32Array(1_024);
  #count = 0;
  #dictionary: Dictionary | undefined;
  /** The number of each text of the last dictionary, plus 1. */
  #known = new Uint32Array(0);
  #starts: Int32Array = new Int32Array(0);
  #bytes: DataView = new DataView(new ArrayBuffer(0));

  append({ buffers }: ColumnData, rows: Int32Array, dictionary: Dictionary): number {
    if (dictionary !== this.#dictionary) {
      const { buffers: texts = [], length = 0 } = dictionary.column ?? {};
      const bytes = texts[2] ?? new Uint8Array(0);
      this.#dictionary = dictionary;
      this.#known = new Uint32Array(length);
      this.#starts = intsOf(texts[1]);
      this.#bytes = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    const indexes = intsOf(buffers[1]);
    this.#reserve(rows.length);
    const before = this.#count;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] ?? -1;
      if (row < 0) continue;
      const index = indexes[row] ?? 0;
      const known = this.#known[index] || this.#add(index);
      this.#indexes[this.#count++] = known - 1;
    }
    return this.#count - before;
  }

  #add(index: number): number {
    const starts = this.#starts;
    const [start, end] = [starts[index] ?? 0, starts[index + 1] ?? 0];
    const number = this.#texts.numberOf(this.#bytes, start, end) + 1;
    this.#known[index] = number;
    return number;
  }

  #reserve(count: number): void {
    if (this.#count + count <= this.#indexes.length) return;
    const indexes = new Uint32Array(Math.max(this.#count + count, this.#indexes.length * 2));
    indexes.set(this.#indexes);
    this.#indexes = indexes;
  }

  encode(page: ByteSink): EncodedValues {
    const { bytes, count } = this.#texts;
    const bits = bitsFor(Math.max(0, count - 1));
    page.byte(bits);
    writeHybrid(page, this.#indexes.subarray(0, this.#count), bits);
    return { encoding: ENCODINGS.dictionary, dictionary: { bytes, count } };
  }

  release(): void {
    this.#texts.release();
  }
}
