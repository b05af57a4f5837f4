import { elementAt } from '@sluice/base/element-at';

const firstBytes = 4_096;
/** Memory of sinks that are done, for those that grow. New memory is cleared and collected, which takes longer than filling it. */
const spares: Uint8Array[] = [];
const spareCountMax = 64;
const spareBytesMax = 16 << 20;

/** Returns memory of at least this size. */
function takeMemory(byteCount: number): Uint8Array {
  let best = -1;
  for (let i = 0; i < spares.length; i++) {
    const { length } = elementAt(spares, i);
    if (length >= byteCount && (best < 0 || length < elementAt(spares, best).length)) best = i;
  }
  if (best < 0) return new Uint8Array(byteCount);
  const [found] = spares.splice(best, 1);
  return found ?? new Uint8Array(byteCount);
}

function giveMemory(bytes: Uint8Array): void {
  if (spares.length < spareCountMax && bytes.length <= spareBytesMax) spares.push(bytes);
}

/** Bytes that are appended to. */
export class ByteSink {
  #bytes = takeMemory(firstBytes);
  #view: DataView | undefined;
  length = 0;

  /** A view of what was appended. The next call of another method may invalidate it. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  /** A view of the whole memory. Only its first `length` bytes have been written. */
  get view(): DataView {
    this.#view ??= new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
    return this.#view;
  }

  append(bytes: Uint8Array): void {
    const at = this.length;
    this.reserve(bytes.length).set(bytes, at);
  }

  byte(value: number): void {
    const at = this.length;
    this.reserve(1)[at] = value;
  }

  fill(value: number, count: number): void {
    const at = this.length;
    this.reserve(count).fill(value, at, at + count);
  }

  uint32(value: number): void {
    const at = this.length;
    const bytes = this.reserve(4);
    bytes[at] = value;
    bytes[at + 1] = value >>> 8;
    bytes[at + 2] = value >>> 16;
    bytes[at + 3] = value >>> 24;
  }

  /** An integer without a sign, seven bits in each byte. */
  varint(value: number | bigint): void {
    let rest = BigInt(value);
    for (; rest >= 128n; rest >>= 7n) this.byte(Number(rest & 127n) | 128);
    this.byte(Number(rest));
  }

  /** Appends bytes that the caller writes, from the former length on. Returns the memory that has them. */
  reserve(count: number): Uint8Array {
    this.length += count;
    if (this.length > this.#bytes.length) {
      const bytes = takeMemory(Math.max(this.length, this.#bytes.length * 2));
      bytes.set(this.#bytes);
      giveMemory(this.#bytes);
      this.#bytes = bytes;
      this.#view = undefined;
    }
    return this.#bytes;
  }

  /** Ends the use of this sink and of views of it. */
  release(): void {
    giveMemory(this.#bytes);
    this.#bytes = noBytes;
    this.#view = undefined;
    this.length = 0;
  }
}

const noBytes = new Uint8Array(0);
