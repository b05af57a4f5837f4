import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import type { PageDecoder } from '@sluice/kernels/engine-exports';
import { FREE_MEMORY_START } from '@sluice/kernels/layout/memory';
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import { loadKernel } from '@sluice/kernels/load-kernel';

/** The functions of `kernels/assembly/codec.ts`. Addresses are byte positions in the kernel's memory. */
export interface CodecExports extends PageDecoder {
  readonly LZ_TABLE_BYTES: { readonly value: number };
  readonly LZ_DICTIONARY_TABLE_BYTES: { readonly value: number };
  readonly LZ_PAGE_TABLE_BYTES: { readonly value: number };
  lzBuildTable(dictionary: number, length: number, table: number): void;
  encodePage(
    columns: number,
    columnCount: number,
    counts: number,
    count: number,
    out: number,
  ): number;
  compressPages(
    ...args: [
      raw: number,
      lengths: number,
      pageCount: number,
      window: number,
      dictionaryBytes: number,
      dictionaryTable: number,
      pageTable: number,
      out: number,
    ]
  ): number;
  readonly BASE58_TABLE_BYTES: { readonly value: number };
  base58Initialize(base: number): void;
  keyTexts(keys: number, count: number, out: number): void;
  checksumChunks(bytes: number, length: number, chunkBytes: number, out: number): void;
  lzCompress(input: number, length: number, out: number, table: number): number;
  lzDecompress(input: number, length: number, out: number, capacity: number): number;
  splitPlanes(input: number, width: number, count: number, planes: number, out: number): void;
  joinPlanes(input: number, planes: number, count: number, width: number, out: number): void;
  sumPlanes(
    ...args: [
      input: number,
      planes: number,
      stride: number,
      count: number,
      isNarrow: boolean,
      out: number,
    ]
  ): void;
}

/** Decompression copies in steps of 32 bytes and may access as many bytes past either end. */
const slackBytes = 64;

let kernel: Kernel<CodecExports> | undefined;

/** Returns the codec kernel of this thread. Its memory from `FREE_MEMORY_START` on can be used by each call. */
export function codec(): Kernel<CodecExports> {
  kernel ??= loadKernel<CodecExports>('codec', 1 << 20);
  return kernel;
}

/** Returns the compressed bytes, or undefined if they would not be smaller. */
export function compress(bytes: Uint8Array): Uint8Array | undefined {
  const { memory, exports } = codec();
  const table = FREE_MEMORY_START;
  const input = table + exports.LZ_TABLE_BYTES.value;
  const out = input + bytes.length + slackBytes;
  ensureMemory(memory, out + bytes.length + Math.ceil(bytes.length / 255) + slackBytes);
  new Uint8Array(memory.buffer, input, bytes.length).set(bytes);
  const length = exports.lzCompress(input, bytes.length, out, table);
  if (length >= bytes.length) return undefined;
  return new Uint8Array(memory.buffer, out, length).slice();
}

/** Returns the original bytes, or undefined if the input is damaged. */
export function decompress(bytes: Uint8Array, rawLength: number): Uint8Array | undefined {
  return decompressInPlace(bytes, rawLength)?.slice();
}

/** Writes the original bytes to `target`, which has their length. Returns false if the input is damaged. */
export function decompressInto(bytes: Uint8Array, target: Uint8Array): boolean {
  const raw = decompressInPlace(bytes, target.length);
  if (raw !== undefined) target.set(raw);
  return raw !== undefined;
}

/** The result is a view of the kernel's memory, which the next call overwrites. */
function decompressInPlace(bytes: Uint8Array, rawLength: number): Uint8Array | undefined {
  const { memory, exports } = codec();
  const out = FREE_MEMORY_START + bytes.length + slackBytes;
  ensureMemory(memory, out + rawLength + slackBytes);
  new Uint8Array(memory.buffer, FREE_MEMORY_START, bytes.length).set(bytes);
  const length = exports.lzDecompress(FREE_MEMORY_START, bytes.length, out, rawLength);
  return length === rawLength ? new Uint8Array(memory.buffer, out, length) : undefined;
}

/** Returns the lowest `planes` bytes of each integer, all lowest bytes first. */
export function splitPlanes(values: Uint32Array | BigUint64Array, planes: number): Uint8Array {
  const { memory, exports } = codec();
  const width = values.BYTES_PER_ELEMENT;
  const out = FREE_MEMORY_START + values.byteLength + slackBytes;
  ensureMemory(memory, out + values.length * planes + slackBytes);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  new Uint8Array(memory.buffer, FREE_MEMORY_START, bytes.length).set(bytes);
  exports.splitPlanes(FREE_MEMORY_START, width, values.length, planes, out);
  return new Uint8Array(memory.buffer, out, values.length * planes).slice();
}

export function joinInts(bytes: Uint8Array, planes: number, count: number): Uint32Array {
  assert(planes <= 4, 'an int column has at most four planes');
  if (planes < 3) return joinSmall(bytes, planes, count);
  return new Uint32Array(join(bytes, planes, count, 4));
}

export function joinLongs(bytes: Uint8Array, planes: number, count: number): BigUint64Array {
  return new BigUint64Array(join(bytes, planes, count, 8));
}

/** One plane is widened by a typed array copy, and for two a call of the kernel would not be faster. */
function joinSmall(bytes: Uint8Array, planes: number, count: number): Uint32Array {
  const values = new Uint32Array(count);
  values.set(bytes.subarray(0, count));
  if (planes === 1) return values;
  for (let i = 0; i < count; i++) {
    values[i] = (values[i] as number) | ((bytes[count + i] as number) << 8);
  }
  return values;
}

function join(bytes: Uint8Array, planes: number, count: number, width: number): ArrayBuffer {
  const { memory, exports } = codec();
  const out = FREE_MEMORY_START + bytes.length + slackBytes;
  ensureMemory(memory, out + count * width + slackBytes);
  new Uint8Array(memory.buffer, FREE_MEMORY_START, bytes.length).set(bytes);
  exports.joinPlanes(FREE_MEMORY_START, planes, count, width, out);
  return new Uint8Array(memory.buffer, out, count * width).slice().buffer;
}

interface StoredInts {
  readonly planes: Uint8Array;
  readonly planeCount: number;
  /** The distance between two planes; 0 if all integers are equal and each plane has one byte. */
  readonly stride: number;
  readonly count: number;
}

/** Returns the sums of the first 0, 1, … integers, up to all of them. */
export function sumInts(ints: StoredInts): Float64Array {
  return new Float64Array(sumPlanes(ints, 8));
}

/** The same for sums below 2^32. */
export function sumSmallInts(ints: StoredInts): Uint32Array {
  return new Uint32Array(sumPlanes(ints, 4));
}

function sumPlanes({ planes, planeCount, stride, count }: StoredInts, width: 4 | 8): ArrayBuffer {
  const { memory, exports } = codec();
  const out = FREE_MEMORY_START + Math.ceil(planes.length / 8) * 8;
  const length = (count + 1) * width;
  ensureMemory(memory, out + length);
  new Uint8Array(memory.buffer).set(planes, FREE_MEMORY_START);
  exports.sumPlanes(FREE_MEMORY_START, planeCount, stride, count, width === 4, out);
  return memory.buffer.slice(out, out + length);
}

const keyBytes = 32;

/** Few, because a lookup needs the text of one or two blocks, and enough that a scan does not read the keys too often. */
const chunkKeys = 64;
/** A scan requests one chunk after another, and then this many are encoded together. */
const scannedChunks = 8;

/** The base58 texts of keys of 32 bytes each. They are read and encoded when they are requested: most texts of an open segment never are. */
export class KeyTexts {
  readonly length: number;
  readonly #readKeys: () => Uint8Array;
  readonly #texts: Buffer[] = [];

  /** `readKeys` returns all keys. The result is used before it is called again. */
  constructor(length: number, readKeys: () => Uint8Array) {
    this.length = length;
    this.#readKeys = readKeys;
  }

  /** The memory of the texts that were requested, and of those beside them. */
  get textBytes(): number {
    return this.#texts.reduce((sum, { length }) => sum + length, 0);
  }

  at(index: number): string {
    assert(index < this.length, 'the list has the text');
    const chunk = Math.floor(index / chunkKeys);
    const texts = this.#texts[chunk] ?? this.#load(chunk);
    const start = (index % chunkKeys) * KEY_TEXT_BYTES;
    const length = texts.readUInt8(start + KEY_TEXT_BYTES - 1);
    return texts.toString('latin1', start, start + length);
  }

  #load(chunk: number): Buffer {
    const count = this.#texts[chunk - 1] === undefined ? 1 : scannedChunks;
    const keys = this.#readKeys();
    const first = chunk * chunkKeys * keyBytes;
    const texts = encodeKeys(keys.subarray(first, first + count * chunkKeys * keyBytes));
    const chunkBytes = chunkKeys * KEY_TEXT_BYTES;
    for (let i = 0; i * chunkBytes < texts.length; i++)
      this.#texts[chunk + i] ??= texts.subarray(i * chunkBytes, (i + 1) * chunkBytes);
    return elementAt(this.#texts, chunk);
  }
}

function encodeKeys(keys: Uint8Array): Buffer {
  const count = keys.length / keyBytes;
  const { memory, exports } = codec();
  const tables = FREE_MEMORY_START;
  const input = tables + exports.BASE58_TABLE_BYTES.value;
  const out = input + keys.length + slackBytes;
  ensureMemory(memory, out + count * KEY_TEXT_BYTES + slackBytes);
  exports.base58Initialize(tables);
  new Uint8Array(memory.buffer).set(keys, input);
  exports.keyTexts(input, count, out);
  return Buffer.from(memory.buffer.slice(out, out + count * KEY_TEXT_BYTES));
}
