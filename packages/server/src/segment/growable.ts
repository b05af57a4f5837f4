/** Typed columns that grow while rows are appended. `values` is a view of what is filled. */
export class IntColumn {
  #data = new Uint32Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.#data.length) this.#grow(this.length + 1);
    this.#data[this.length++] = value;
  }

  append(values: Uint32Array): void {
    if (this.length + values.length > this.#data.length) this.#grow(this.length + values.length);
    this.#data.set(values, this.length);
    this.length += values.length;
  }

  get values(): Uint32Array {
    return this.#data.subarray(0, this.length);
  }

  #grow(least: number): void {
    const data = new Uint32Array(Math.max(least, this.#data.length * 2));
    data.set(this.#data);
    this.#data = data;
  }
}

export class LongColumn {
  #data = new BigUint64Array(64);
  length = 0;

  push(value: bigint): void {
    if (this.length === this.#data.length) this.#grow(this.length + 1);
    this.#data[this.length++] = value;
  }

  append(values: BigUint64Array): void {
    if (this.length + values.length > this.#data.length) this.#grow(this.length + values.length);
    this.#data.set(values, this.length);
    this.length += values.length;
  }

  get values(): BigUint64Array {
    return this.#data.subarray(0, this.length);
  }

  #grow(least: number): void {
    const data = new BigUint64Array(Math.max(least, this.#data.length * 2));
    data.set(this.#data);
    this.#data = data;
  }
}

export class ByteColumn {
  #data = new Uint8Array(256);
  length = 0;

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.#data.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Appends text as UTF-8 and answers how many bytes it took. */
  appendText(text: string): number {
    this.reserve(text.length * 3);
    const { written } = encoder.encodeInto(text, this.#data.subarray(this.length));
    this.length += written;
    return written;
  }

  reserve(count: number): void {
    if (this.length + count <= this.#data.length) return;
    const data = new Uint8Array(Math.max(this.length + count, this.#data.length * 2));
    data.set(this.#data);
    this.#data = data;
  }

  get values(): Uint8Array {
    return this.#data.subarray(0, this.length);
  }
}

const encoder = new TextEncoder();
