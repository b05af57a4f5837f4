/** Typed columns that grow while rows are appended. `values` is a view of the filled part. */

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
    this.#data.set(values, this.length);
    this.length += values.length;
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
    this.#data.set(values, this.length);
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
    this.#data.set(bytes, this.length);
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

/** Returns an array with the same values and at least this capacity. */
export function growTo(values: Uint32Array, count: number): Uint32Array {
  if (count <= values.length) return values;
  const grown = new Uint32Array(Math.max(count, values.length * 2));
  grown.set(values);
  return grown;
}
