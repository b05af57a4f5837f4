import { crc32 } from 'node:zlib';
import { elementAt } from '@sluice/base/element-at';
import { damaged } from '../encoding/unit.ts';
import {
  decodeHeader,
  EntryReader,
  headerBytes,
  type IndexShape,
  indexByteLength,
  listsOffset,
  openPage,
  pageBytes,
  pageHeaderBytes,
  pageOf,
  pageStart,
  partBytes,
  partsOffset,
  TAG,
  tagCount,
} from './layout.ts';
import type { KeySource, SlotRange } from './write-index.ts';

export type ReadAt = (position: number, length: number) => Promise<Uint8Array>;

/**
 * Returns the numbers of the parts that can have a key: none if it is absent, undefined if all parts can have it. It reads one page, and
 * rarely more.
 */
export async function findParts(
  hash: number,
  shape: IndexShape,
  read: ReadAt,
): Promise<readonly number[] | undefined> {
  const { pageCount } = shape;
  const number = pageOf(hash, pageCount);
  const page = await read(headerBytes + number * pageBytes, pageBytes);
  const { moreOffset, moreBytes, entryBytes } = openPage(page);
  const reader = new EntryReader();
  reader.start(page, pageHeaderBytes, pageHeaderBytes + entryBytes);
  const entries = new Entries(reader, pageStart(number, pageCount));
  if (entries.find(hash)) return entries.numbers;
  if (moreBytes === 0 || entries.hash > hash) return [];
  const more = await read(listsOffset(shape) + moreOffset, moreBytes + 4);
  reader.start(verified(more, 'lists'), 0, moreBytes);
  return entries.find(hash) ? entries.numbers : [];
}

/** Pages between two needed ones that are read with them, rather than in two reads. */
const pageGapMax = 4;
/** The pages of a set of keys that are read at once. Searching them takes about two milliseconds, in which the thread does nothing else. */
const setPagesPerRead = 32;

/**
 * Returns the numbers of the parts that can have any of several keys, ascending; undefined if all parts can. The hashes ascend. Reads each
 * page that can have one of them once, in large reads where most pages are needed.
 */
export async function findAnyParts(
  hashes: Float64Array,
  shape: IndexShape,
  read: ReadAt,
): Promise<readonly number[] | undefined> {
  const { pageCount } = shape;
  const found = new Set<number>();
  for (let at = 0; at < hashes.length; ) {
    const first = pageOf(hashes[at] ?? 0, pageCount);
    const end = endOfRead(hashes, at, pageCount);
    const pages = await read(headerBytes + first * pageBytes, (end - first) * pageBytes);
    for (let number = first; number < end; number++) {
      const from = at;
      while (at < hashes.length && pageOf(hashes[at] ?? 0, pageCount) === number) at++;
      if (at === from) continue;
      const offset = (number - first) * pageBytes;
      const page = pages.subarray(offset, offset + pageBytes);
      const wanted = hashes.subarray(from, at);
      if (!(await collectParts(wanted, { page, number, shape, read }, found))) return undefined;
    }
    if (found.size === shape.partCount) break;
  }
  return [...found].sort((a, b) => a - b);
}

/** Returns the page after the last one of the next read, which begins with the page of the hash at a position. */
function endOfRead(hashes: Float64Array, at: number, pageCount: number): number {
  const first = pageOf(hashes[at] ?? 0, pageCount);
  let last = first;
  for (let next = at + 1; next < hashes.length; next++) {
    const page = pageOf(hashes[next] ?? 0, pageCount);
    if (page > last + pageGapMax || page >= first + setPagesPerRead) break;
    last = page;
  }
  return last + 1;
}

interface IndexPage {
  readonly page: Uint8Array;
  readonly number: number;
  readonly shape: IndexShape;
  readonly read: ReadAt;
}

/** Adds the parts of the keys of one page. Returns false if a key can be in all parts. */
async function collectParts(
  hashes: Float64Array,
  { page, number, shape, read }: IndexPage,
  found: Set<number>,
): Promise<boolean> {
  const { moreOffset, moreBytes, entryBytes } = openPage(page);
  const search = { hashes, at: 0, hash: pageStart(number, shape.pageCount), found };
  if (!searchEntries(search, page.subarray(pageHeaderBytes, pageHeaderBytes + entryBytes)))
    return false;
  if (moreBytes === 0 || search.at >= hashes.length) return true;
  const more = await read(listsOffset(shape) + moreOffset, moreBytes + 4);
  return searchEntries(search, verified(more, 'lists'));
}

interface EntrySearch {
  readonly hashes: Float64Array;
  /** The position of the first hash that is above all entries before. */
  at: number;
  /** The hash of the entry before. */
  hash: number;
  readonly found: Set<number>;
}

/**
 * Adds the parts of the entries that have one of the hashes. Returns false if one of them is in all parts. A set of a million keys needs
 * nearly all entries of an index, so numbers are read in place instead of by the methods of `Entries`, which takes half as long.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: calls in this loop double its time.
function searchEntries(search: EntrySearch, bytes: Uint8Array): boolean {
  const { hashes, found } = search;
  const { length } = bytes;
  let { at: wantedAt, hash } = search;
  let wanted = hashes[wantedAt] ?? Infinity;
  let listed = 0; // The numbers of the current entry that follow.
  let part = 0;
  let isHash = true;
  for (let at = 0; at < length; ) {
    let byte = bytes[at++] ?? 0;
    let value = byte & 0x7f;
    for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
      if (at >= length) throw damaged('page', 'an entry is cut off');
      byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * scale;
    }
    if (listed > 0) {
      part += value;
      if (hash === wanted) found.add(part);
      isHash = --listed === 0;
    } else if (isHash) {
      hash += value;
      while (wanted < hash) wanted = hashes[++wantedAt] ?? Infinity;
      if (wanted === Infinity) break;
      isHash = false;
    } else {
      isHash = true;
      const tag = value % tagCount;
      if (tag === TAG.some) {
        listed = Math.floor(value / tagCount);
        part = 0;
        isHash = listed === 0;
      } else if (tag > TAG.all) throw damaged('page', 'an entry has an unknown tag');
      else if (hash === wanted) {
        if (tag === TAG.all) return false;
        found.add(Math.floor(value / tagCount));
      }
    }
  }
  if (listed > 0 || (!isHash && wanted !== Infinity)) throw damaged('page', 'an entry is cut off');
  search.at = wantedAt;
  search.hash = hash;
  return true;
}

/** Returns the first and the last slot of each part, one after another. */
export async function readParts(shape: IndexShape, read: ReadAt): Promise<Float64Array> {
  const length = shape.partCount * partBytes;
  const bytes = verified(await read(partsOffset(shape), length + 4), 'parts');
  return new Float64Array(new Uint8Array(bytes).buffer);
}

/** Reads a whole index and verifies all checksums. Throws `segment-damaged`, which names the damaged part. */
export async function verifyIndex(shape: IndexShape, read: ReadAt): Promise<void> {
  const header = decodeHeader(await read(0, headerBytes));
  if (indexByteLength(header) !== indexByteLength(shape))
    throw damaged('header', 'it is that of another index');
  for (let number = 0; number < shape.pageCount; number += pagesPerRead) {
    const count = Math.min(pagesPerRead, shape.pageCount - number);
    const pages = await read(headerBytes + number * pageBytes, count * pageBytes);
    for (let i = 0; i < count; i++) {
      const { moreOffset, moreBytes } = openPage(
        pages.subarray(i * pageBytes, (i + 1) * pageBytes),
      );
      if (moreBytes === 0) continue;
      verified(await read(listsOffset(shape) + moreOffset, moreBytes + 4), 'lists');
    }
  }
  await readParts(shape, read);
}

function decodeParts(bytes: Uint8Array): SlotRange[] {
  const parts = verified(bytes, 'parts');
  const view = new DataView(parts.buffer, parts.byteOffset, parts.byteLength);
  return Array.from({ length: parts.length / partBytes }, (_, i) => ({
    first: view.getFloat64(i * partBytes, true),
    last: view.getFloat64(i * partBytes + 8, true),
  }));
}

/** Returns bytes without the checksum at their end. */
function verified(bytes: Uint8Array, name: string): Uint8Array {
  if (bytes.length < 4) throw damaged(name, 'it is truncated');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const content = bytes.subarray(0, bytes.length - 4);
  if (view.getUint32(bytes.length - 4, true) !== crc32(content))
    throw damaged(name, 'the checksum does not match');
  return content;
}

/** The entries of a page, one after another. */
class Entries {
  readonly #reader: EntryReader;
  readonly #singleNumber = [0];
  hash: number;
  /** Valid until the next entry. */
  numbers: readonly number[] | undefined;

  constructor(reader: EntryReader, start: number) {
    this.#reader = reader;
    this.hash = start;
  }

  next(): boolean {
    const reader = this.#reader;
    if (reader.isDone) return false;
    this.hash += reader.varint();
    const tagged = reader.varint();
    const number = Math.floor(tagged / tagCount);
    switch (tagged % tagCount) {
      case TAG.one:
        this.#singleNumber[0] = number;
        this.numbers = this.#singleNumber;
        return true;
      case TAG.some: {
        const numbers: number[] = [];
        let last = 0;
        for (let i = 0; i < number; i++) {
          last += reader.varint();
          numbers.push(last);
        }
        this.numbers = numbers;
        return true;
      }
      case TAG.all:
        this.numbers = undefined;
        return true;
      default:
        throw damaged('page', 'an entry has an unknown tag');
    }
  }

  find(hash: number): boolean {
    while (this.next()) {
      if (this.hash === hash) return true;
      if (this.hash > hash) return false;
    }
    return false;
  }
}

interface IndexBytes {
  read(position: number, length: number): Uint8Array;
}

export interface OpenIndexBytes extends IndexBytes {
  close(): void;
}

const pagesPerRead = 256;

/** All keys of an index, to merge it into another. Pages are read in order, a megabyte at a time. */
export class IndexKeys implements KeySource {
  readonly parts: readonly SlotRange[];
  readonly #shape: IndexShape;
  readonly #bytes: IndexBytes;
  readonly #reader = new EntryReader();
  #entries = new Entries(this.#reader, 0);
  #pages: Uint8Array = new Uint8Array(0);
  #nextPage = 0;
  #more: { readonly offset: number; readonly length: number } | undefined;

  constructor(bytes: IndexBytes) {
    this.#bytes = bytes;
    const shape = decodeHeader(bytes.read(0, headerBytes));
    this.#shape = shape;
    const length = shape.partCount * partBytes;
    this.parts = decodeParts(bytes.read(partsOffset(shape), length + 4));
  }

  get keyCount(): number {
    return this.#shape.keyCount;
  }

  get numberBytes(): number {
    return this.#shape.numberBytes;
  }

  get hash(): number {
    return this.#entries.hash;
  }

  get numbers(): readonly number[] | undefined {
    return this.#entries.numbers;
  }

  next(): boolean {
    while (!this.#entries.next()) if (!this.#openNext()) return false;
    return true;
  }

  /** Opens the rest of the current page, or the next page. */
  #openNext(): boolean {
    if (this.#more !== undefined) {
      const { offset, length } = this.#more;
      this.#more = undefined;
      const bytes = this.#bytes.read(listsOffset(this.#shape) + offset, length + 4);
      this.#reader.start(verified(bytes, 'lists'), 0, length);
      return true;
    }
    const { pageCount } = this.#shape;
    if (this.#nextPage >= pageCount) return false;
    const number = this.#nextPage++;
    const inRead = number % pagesPerRead;
    if (inRead === 0) {
      const count = Math.min(pagesPerRead, pageCount - number);
      this.#pages = this.#bytes.read(headerBytes + number * pageBytes, count * pageBytes);
    }
    const page = this.#pages.subarray(inRead * pageBytes, (inRead + 1) * pageBytes);
    const { moreOffset, moreBytes, entryBytes } = openPage(page);
    if (moreBytes > 0) this.#more = { offset: moreOffset, length: moreBytes };
    this.#reader.start(page, pageHeaderBytes, pageHeaderBytes + entryBytes);
    this.#entries = new Entries(this.#reader, pageStart(number, pageCount));
    return true;
  }
}

/** The keys of one segment, to build an index. */
export class SegmentKeys implements KeySource {
  readonly parts: readonly SlotRange[];
  readonly numbers = [0];
  readonly #hashes: Float64Array;
  #at = -1;

  constructor(range: SlotRange, hashes: Float64Array) {
    this.parts = [range];
    this.#hashes = hashes;
  }

  get keyCount(): number {
    return this.#hashes.length;
  }

  /** The number of the only part takes one byte. */
  get numberBytes(): number {
    return this.#hashes.length;
  }

  get hash(): number {
    return elementAt(this.#hashes, this.#at);
  }

  next(): boolean {
    return ++this.#at < this.#hashes.length;
  }
}
