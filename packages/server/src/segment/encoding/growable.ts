/** Typed columns that grow while rows are appended. `values` is a view of the filled part. */
import { copyBytes } from '@sluice/base/memory/copy-bytes';

/** The data of empty columns. Many columns of a block stay empty and allocate nothing. */
const noInts = new Uint32Array(0);
const noLongs = new BigUint64Array(0);
const noBytes = new Uint8Array(0);
const countMin = 64;
const byteCountMin = 256;

export class IntColumn {
  #data: Uint32Array = noInts;
  length = 0;

  /** Creates a column of these values, without a copy: the caller must not change them afterwards. */
  static of(values: Uint32Array): IntColumn {
    const column = new IntColumn();
    column.#data = values;
    column.length = values.length;
    return column;
  }

  push(value: number): void {
    if (this.length === this.#data.length) this.#grow(this.length + 1);
    this.#data[this.length++] = value;
  }

  append(values: Uint32Array): void {
    if (this.length + values.length > this.#data.length) this.#grow(this.length + values.length);
    copyValues(this.#data, this.length, values);
    this.length += values.length;
  }

  /** Appends values that the caller then writes into the returned view. */
  extend(count: number): Uint32Array {
    const first = this.length;
    if (first + count > this.#data.length) this.#grow(first + count);
    this.length += count;
    return this.#data.subarray(first, this.length);
  }

  /** Removes all values and keeps the memory. Views of the values become invalid. */
  clear(): void {
    this.length = 0;
  }

  get values(): Uint32Array {
    return this.#data.subarray(0, this.length);
  }

  #grow(least: number): void {
    const data = new Uint32Array(Math.max(countMin, least, this.#data.length * 2));
    data.set(this.#data);
    this.#data = data;
  }
}

export class LongColumn {
  #data: BigUint64Array = noLongs;
  length = 0;

  /** Creates a column of these values, without a copy: the caller must not change them afterwards. */
  static of(values: BigUint64Array): LongColumn {
    const column = new LongColumn();
    column.#data = values;
    column.length = values.length;
    return column;
  }

  push(value: bigint): void {
    if (this.length === this.#data.length) this.#grow(this.length + 1);
    this.#data[this.length++] = value;
  }

  append(values: BigUint64Array): void {
    if (this.length + values.length > this.#data.length) this.#grow(this.length + values.length);
    copyValues(this.#data, this.length, values);
    this.length += values.length;
  }

  /** Removes all values and keeps the memory. Views of the values become invalid. */
  clear(): void {
    this.length = 0;
  }

  get values(): BigUint64Array {
    return this.#data.subarray(0, this.length);
  }

  #grow(least: number): void {
    const data = new BigUint64Array(Math.max(countMin, least, this.#data.length * 2));
    data.set(this.#data);
    this.#data = data;
  }
}

export class ByteColumn {
  #data: Uint8Array = noBytes;
  length = 0;

  /** Creates a column of these values, without a copy: the caller must not change them afterwards. */
  static of(values: Uint8Array): ByteColumn {
    const column = new ByteColumn();
    column.#data = values;
    column.length = values.length;
    return column;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    copyBytes(this.#data, this.length, bytes);
    this.length += bytes.length;
  }

  /** Appends text as UTF-8. Returns its length in bytes. */
  appendText(text: string): number {
    this.reserve(text.length * 3);
    const { written } = encoder.encodeInto(text, this.#data.subarray(this.length));
    this.length += written;
    return written;
  }

  reserve(count: number): void {
    if (this.length + count <= this.#data.length) return;
    const data = new Uint8Array(Math.max(byteCountMin, this.length + count, this.#data.length * 2));
    data.set(this.#data);
    this.#data = data;
  }

  /** Removes all values and keeps the memory. Views of the values become invalid. */
  clear(): void {
    this.length = 0;
  }

  get values(): Uint8Array {
    return this.#data.subarray(0, this.length);
  }
}

const encoder = new TextEncoder();

/** Writes values into a column. Rows of an import are in shared memory, which `set` copies word by word. */
function copyValues<Values extends Uint32Array | BigUint64Array>(
  target: Values,
  at: number,
  values: Values,
): void {
  const offset = at * target.BYTES_PER_ELEMENT;
  copyBytes(bytesOf(target), offset, bytesOf(values));
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array | BigUint64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Returns an array with the same values and at least this capacity. */
export function growTo(values: Uint32Array, count: number): Uint32Array {
  if (count <= values.length) return values;
  const grown = new Uint32Array(Math.max(count, values.length * 2));
  grown.set(values);
  return grown;
}
