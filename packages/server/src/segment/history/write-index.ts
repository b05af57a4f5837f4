import { crc32 } from 'node:zlib';
import { elementAt } from '@sluice/base/element-at';
import {
  differenceBytes,
  EntryBytes,
  encodeHeader,
  headerBytes,
  type IndexShape,
  listsOffset,
  pageBytes,
  pageHeaderBytes,
  pageOf,
  pageStart,
  partBytes,
  partsOffset,
  sealPage,
  TAG,
  tagCount,
} from './layout.ts';

/** A range of slots, both inclusive. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
}

/** Where an index is written. The positions of calls do not ascend. */
export type WriteAt = (position: number, bytes: Uint8Array) => void;

/** The keys of a part of the history, ascending by hash. */
export interface KeySource {
  readonly parts: readonly SlotRange[];
  readonly keyCount: number;
  /** The length of its entries without the differences of their hashes. */
  readonly numberBytes: number;
  /** Moves to the next key. Returns false after the last one. */
  next(): boolean;
  readonly hash: number;
  /** The ascending numbers of the parts that can have the key; undefined for all parts. */
  readonly numbers: readonly number[] | undefined;
}

/**
 * Pages are filled to this share on average. The number of entries varies from page to page; of those pages that are fuller, a lookup reads the
 * rest from the lists.
 */
const fillShare = 0.94;
/** A key in more than this share of many parts is stored as being in all of them. */
const allShare = 1 / 4;
const allPartsMin = 16;
const bufferBytes = 1 << 20;
const entryBytesMax = 16;

/** Writes one index of all sources, which follow each other by slot. Holds a few megabytes in memory. */
export function writeIndex(sources: readonly KeySource[], write: WriteAt): IndexShape {
  const parts = sources.flatMap((source) => source.parts);
  const room = (pageBytes - pageHeaderBytes) * fillShare;
  const pageCount = Math.max(1, Math.ceil(estimateBytes(sources, parts.length) / room));
  const writer = new IndexWriter(pageCount, parts.length, write);
  const countMax = Math.max(allPartsMin, Math.floor(parts.length * allShare));
  const heads = new SourceHeads(sources, countMax);
  for (let numbers = heads.next(); numbers !== null; numbers = heads.next())
    writer.add(heads.hash, numbers);
  return writer.finish(parts);
}

/** Returns the length of all entries. It is a little too long if sources have keys in common. */
function estimateBytes(sources: readonly KeySource[], partCount: number): number {
  let [keyCount, numberBytes] = [0, 0];
  for (const source of sources) {
    keyCount += source.keyCount;
    // The numbers of the parts of later sources are greater than in the source.
    const grown = numberLength(partCount / 2) - numberLength(source.parts.length / 2);
    numberBytes += source.numberBytes + source.keyCount * grown;
  }
  return keyCount * differenceBytes(keyCount) + numberBytes;
}

/** Returns the length of a tagged number as a varint. */
function numberLength(number: number): number {
  return Math.max(1, Math.ceil(Math.log2(number * tagCount + 1) / 7));
}

interface OpenSource {
  readonly source: KeySource;
  /** The number of its first part in the index. */
  readonly base: number;
}

/** Merges the keys of the sources, which are in a heap by their next key. A key in more than `countMax` parts counts as being in all. */
class SourceHeads {
  readonly #heap: OpenSource[] = [];
  readonly #numbers: number[] = [];
  readonly #countMax: number;
  hash = -1;

  constructor(sources: readonly KeySource[], countMax: number) {
    this.#countMax = countMax;
    let base = 0;
    for (const source of sources) {
      if (source.next()) this.#heap.push({ source, base });
      base += source.parts.length;
    }
    for (let i = this.#heap.length >> 1; i >= 0; i--) this.#sink(i);
  }

  /** Returns the part numbers of the next key, undefined for all parts, and null after the last key. Valid until the next call. */
  next(): readonly number[] | undefined | null {
    const heap = this.#heap;
    const [first] = heap;
    if (first === undefined) return null;
    this.hash = first.source.hash;
    this.#numbers.length = 0;
    let [count, sourceCount] = [0, 0];
    for (let top: OpenSource | undefined = first; top?.source.hash === this.hash; top = heap[0]) {
      const { source, base } = top;
      sourceCount++;
      count += source.numbers?.length ?? source.parts.length;
      if (count <= this.#countMax) this.#append(source, base);
      if (!source.next()) this.#removeTop();
      this.#sink(0);
    }
    if (count > this.#countMax) return undefined;
    if (sourceCount > 1) this.#numbers.sort((a, b) => a - b);
    return this.#numbers;
  }

  #removeTop(): void {
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#heap[0] = last;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    for (let at = from; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < heap.length && isBefore(heap, left, least)) least = left;
      if (right < heap.length && isBefore(heap, right, least)) least = right;
      if (least === at) return;
      const moved = elementAt(heap, at);
      heap[at] = elementAt(heap, least);
      heap[least] = moved;
      at = least;
    }
  }

  #append({ numbers, parts }: KeySource, base: number): void {
    if (numbers === undefined) for (let i = 0; i < parts.length; i++) this.#numbers.push(base + i);
    else for (const number of numbers) this.#numbers.push(base + number);
  }
}

function isBefore(heap: readonly OpenSource[], a: number, b: number): boolean {
  return elementAt(heap, a).source.hash < elementAt(heap, b).source.hash;
}

class IndexWriter {
  readonly #pageCount: number;
  readonly #partCount: number;
  readonly #pages: BufferedWriter;
  readonly #lists: BufferedWriter;
  readonly #write: WriteAt;
  readonly #entry: EntryBytes;
  readonly #page = new Uint8Array(pageBytes);
  /** The entries of the current page that are beyond its size. */
  #more: Uint8Array[] = [];
  #pageNumber = 0;
  #entryBytes = 0;
  #lastHash: number;
  #keyCount = 0;
  #numberBytes = 0;

  constructor(pageCount: number, partCount: number, write: WriteAt) {
    this.#pageCount = pageCount;
    this.#partCount = partCount;
    this.#write = write;
    this.#pages = new BufferedWriter(headerBytes, write);
    this.#lists = new BufferedWriter(listsOffset({ pageCount }), write);
    this.#entry = new EntryBytes(entryBytesMax + partCount * 8);
    this.#lastHash = pageStart(0, pageCount);
  }

  add(hash: number, numbers: readonly number[] | undefined): void {
    const page = pageOf(hash, this.#pageCount);
    while (this.#pageNumber < page) this.#finishPage();
    const entry = this.#entry;
    entry.length = 0;
    entry.varint(hash - this.#lastHash);
    this.#lastHash = hash;
    const { length } = entry;
    this.#encode(entry, numbers);
    this.#numberBytes += entry.length - length;
    this.#keyCount++;
    const bytes = entry.bytes.subarray(0, entry.length);
    const fits = pageHeaderBytes + this.#entryBytes + entry.length <= pageBytes;
    if (fits && this.#more.length === 0) {
      this.#page.set(bytes, pageHeaderBytes + this.#entryBytes);
      this.#entryBytes += entry.length;
    } else this.#more.push(bytes.slice());
  }

  #encode(entry: EntryBytes, numbers: readonly number[] | undefined): void {
    if (numbers === undefined) {
      entry.varint(TAG.all);
      return;
    }
    const [first = 0] = numbers;
    if (numbers.length === 1) {
      entry.varint(first * tagCount + TAG.one);
      return;
    }
    entry.varint(numbers.length * tagCount + TAG.some);
    let last = 0;
    for (const number of numbers) {
      entry.varint(number - last);
      last = number;
    }
  }

  #finishPage(): void {
    const more = Buffer.concat(this.#more);
    const moreOffset = more.length === 0 ? 0 : this.#lists.length;
    if (more.length > 0) {
      this.#lists.append(more);
      this.#lists.append(checksumOf(more));
    }
    this.#page.fill(0, pageHeaderBytes + this.#entryBytes);
    const { length: moreBytes } = more;
    sealPage(this.#page, { moreOffset, moreBytes, entryBytes: this.#entryBytes });
    this.#pages.append(this.#page);
    this.#more = [];
    this.#entryBytes = 0;
    this.#pageNumber++;
    this.#lastHash = pageStart(this.#pageNumber, this.#pageCount);
  }

  finish(parts: readonly SlotRange[]): IndexShape {
    while (this.#pageNumber < this.#pageCount) this.#finishPage();
    this.#pages.flush();
    this.#lists.flush();
    const { length: listBytes } = this.#lists;
    const shape = {
      pageCount: this.#pageCount,
      partCount: this.#partCount,
      keyCount: this.#keyCount,
      listBytes,
      numberBytes: this.#numberBytes,
    };
    this.#write(partsOffset(shape), encodeParts(parts));
    this.#write(0, encodeHeader(shape));
    return shape;
  }
}

function checksumOf(bytes: Uint8Array): Uint8Array {
  const checksum = new Uint8Array(4);
  new DataView(checksum.buffer).setUint32(0, crc32(bytes), true);
  return checksum;
}

function encodeParts(parts: readonly SlotRange[]): Uint8Array {
  const bytes = new Uint8Array(parts.length * partBytes + 4);
  const view = new DataView(bytes.buffer);
  parts.forEach(({ first, last }, i) => {
    view.setFloat64(i * partBytes, first, true);
    view.setFloat64(i * partBytes + 8, last, true);
  });
  view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, bytes.length - 4)), true);
  return bytes;
}

/** Appends to a region of the file in large writes. */
class BufferedWriter {
  readonly #write: WriteAt;
  readonly #start: number;
  readonly #buffer = new Uint8Array(bufferBytes);
  #buffered = 0;
  #written = 0;

  constructor(start: number, write: WriteAt) {
    this.#start = start;
    this.#write = write;
  }

  get length(): number {
    return this.#written + this.#buffered;
  }

  append(bytes: Uint8Array): void {
    if (this.#buffered + bytes.length > bufferBytes) this.flush();
    if (bytes.length > bufferBytes) {
      this.#write(this.#start + this.#written, bytes);
      this.#written += bytes.length;
      return;
    }
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.length;
  }

  flush(): void {
    if (this.#buffered === 0) return;
    this.#write(this.#start + this.#written, this.#buffer.slice(0, this.#buffered));
    this.#written += this.#buffered;
    this.#buffered = 0;
  }
}
