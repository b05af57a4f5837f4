/**
 * An index over segments: for each key, in which ranges of slots it can occur. It is a file that never changes.
 *
 *   header   64 bytes: magic, version, numbers of pages, parts and keys, length of the lists and of the part numbers, checksum
 *   pages    4,096 bytes each; a key's page follows from its hash, so a lookup reads one page
 *   lists    part numbers of keys that are in many parts, and entries that did not fit into their pages
 *   parts    the first and the last slot of each part, 16 bytes; usually a part is a segment
 *
 *   page     checksum u32 · offset of further entries in the lists u48, 0 if there are none · their length u32 · length of the entries u16 ·
 *            entries, ascending by hash
 *   entry    difference to the hash before it, varint · tag and number, varint · part numbers
 *            tag 0: the number is the only part · 1: the number of parts, which follow as differences · 2: all parts, or nearly all
 */
import { crc32 } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { damaged } from '../encoding/unit.ts';
import { hashCount } from './key-hash.ts';

export const headerBytes = 64;
export const pageBytes = 4_096;
export const pageHeaderBytes = 16;
export const partBytes = 16;
export const TAG = { one: 0, some: 1, all: 2 } as const;
export const tagCount = 4;

const magic = 0x3148_4c53; // "SLH1"
const version = 1;

/** What must be known about an index to read it. */
export interface IndexShape {
  readonly pageCount: number;
  readonly partCount: number;
  readonly keyCount: number;
  readonly listBytes: number;
  /** The length of all entries without the differences of their hashes, from which the size of a merged index is estimated. */
  readonly numberBytes: number;
}

export function listsOffset({ pageCount }: Pick<IndexShape, 'pageCount'>): number {
  return headerBytes + pageCount * pageBytes;
}

export function partsOffset(shape: Pick<IndexShape, 'pageCount' | 'listBytes'>): number {
  return listsOffset(shape) + shape.listBytes;
}

export function indexByteLength(shape: IndexShape): number {
  return partsOffset(shape) + shape.partCount * partBytes + 4;
}

export function encodeHeader(shape: IndexShape): Uint8Array {
  const bytes = new Uint8Array(headerBytes);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, magic, true);
  view.setUint32(4, version, true);
  view.setFloat64(8, shape.pageCount, true);
  view.setFloat64(16, shape.partCount, true);
  view.setFloat64(24, shape.keyCount, true);
  view.setFloat64(32, shape.listBytes, true);
  view.setFloat64(40, shape.numberBytes, true);
  view.setUint32(60, crc32(bytes.subarray(0, 60)), true);
  return bytes;
}

export function decodeHeader(bytes: Uint8Array): IndexShape {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < headerBytes || view.getUint32(0, true) !== magic)
    throw damaged('header', 'this is not an index over segments');
  if (view.getUint32(60, true) !== crc32(bytes.subarray(0, 60)))
    throw damaged('header', 'the checksum does not match');
  if (view.getUint32(4, true) !== version) throw damaged('header', 'the version is not known');
  return {
    pageCount: view.getFloat64(8, true),
    partCount: view.getFloat64(16, true),
    keyCount: view.getFloat64(24, true),
    listBytes: view.getFloat64(32, true),
    numberBytes: view.getFloat64(40, true),
  };
}

const lowCount = 2 ** 16;
const highCount = hashCount / lowCount;

/** Returns the page of a hash. Only its upper 32 bits count, so that the result is exact. */
export function pageOf(hash: number, pageCount: number): number {
  return Math.floor((Math.floor(hash / lowCount) / highCount) * pageCount);
}

/** Returns a hash that is at most the first of a page. Differences begin with it. */
export function pageStart(page: number, pageCount: number): number {
  const high = Math.max(0, Math.floor((page / pageCount) * highCount) - 1);
  return high * lowCount;
}

/** Writes unsigned numbers up to 2^53 as varints. */
export class EntryBytes {
  readonly bytes: Uint8Array;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) + 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.length++] = rest;
  }
}

/** Returns the expected length of the difference between two hashes, as a varint, if this many hashes are spread evenly. */
export function differenceBytes(keyCount: number): number {
  const mean = hashCount / Math.max(1, keyCount);
  let bytes = 1;
  for (let limit = 0x80; limit < hashCount; limit *= 0x80) bytes += Math.exp(-limit / mean);
  return bytes;
}

/** Reads varints one after another. */
export class EntryReader {
  #bytes: Uint8Array = new Uint8Array(0);
  at = 0;
  end = 0;

  start(bytes: Uint8Array, at: number, end: number): void {
    this.#bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get isDone(): boolean {
    return this.at >= this.end;
  }

  varint(): number {
    const bytes = this.#bytes;
    let at = this.at;
    let value = 0;
    let scale = 1;
    for (;;) {
      if (at >= this.end) throw damaged('page', 'an entry is cut off');
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 0x80;
    }
    this.at = at;
    return value;
  }
}

export interface PageHeader {
  readonly moreOffset: number;
  readonly moreBytes: number;
  readonly entryBytes: number;
}

/** Completes a page whose entries are after its header. */
export function sealPage(page: Uint8Array, header: PageHeader): void {
  assert(header.entryBytes <= pageBytes - pageHeaderBytes, 'the entries fit into the page');
  const view = new DataView(page.buffer, page.byteOffset, pageBytes);
  view.setUint32(4, header.moreOffset % 2 ** 32, true);
  view.setUint16(8, Math.floor(header.moreOffset / 2 ** 32), true);
  view.setUint32(10, header.moreBytes, true);
  view.setUint16(14, header.entryBytes, true);
  view.setUint32(0, crc32(page.subarray(4)), true);
}

export function openPage(page: Uint8Array): PageHeader {
  if (page.length !== pageBytes) throw damaged('page', 'it is truncated');
  const view = new DataView(page.buffer, page.byteOffset, pageBytes);
  if (view.getUint32(0, true) !== crc32(page.subarray(4)))
    throw damaged('page', 'the checksum does not match');
  return {
    moreOffset: view.getUint32(4, true) + view.getUint16(8, true) * 2 ** 32,
    moreBytes: view.getUint32(10, true),
    entryBytes: view.getUint16(14, true),
  };
}
