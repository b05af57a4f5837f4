import { discard } from '../base/discard.ts';
import { bucketOf, fingerprintOf } from './address-index.ts';
import { hashWords, keyBytes } from './dictionary.ts';
import { pageKeyCount } from './limits.ts';
import type { Segment } from './open-segment.ts';

/** A page of postings with the place and first transaction of each of its addresses. */
interface PostingsPage {
  readonly bytes: Uint8Array;
  /** By place in the page: where the distances after the first transaction start, and where they end. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly firsts: Int32Array;
}

const foundCountMax = 4_096;
/** So few lists, none longer than this; a longer one is decoded each time. */
const listCountMax = 4;
const listBytesMax = 1 << 18;

/** The address index of an open segment. Reads its parts when they are first needed and keeps them. */
export class SegmentIndex {
  readonly #segment: Segment;
  readonly #pages = new Map<number, PostingsPage>();
  /** Keys asked for before, with their ids or -1: the same queries come again, and proving a key reads a page. */
  readonly #found = new Map<string, number>();
  /** The lists asked for last, by id: items with the same address share one, and the same queries come again. */
  readonly #lists = new Map<number, Uint32Array>();
  #filter: { fingerprints: Uint8Array; bucketStarts: Uint32Array; bits: number } | undefined;
  #ids: Uint32Array | undefined;

  constructor(segment: Segment) {
    this.#segment = segment;
  }

  /** Of what it keeps, but for some kilobytes. */
  get byteLength(): number {
    return this.#parts().reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Gives back what it keeps, of which nobody reads anything any more: a collection may be far. It is not asked again. */
  release(): void {
    for (const part of this.#parts()) discard(part);
  }

  #parts(): ArrayBufferView[] {
    const { fingerprints, bucketStarts } = this.#filter ?? {};
    const pages = [...this.#pages.values()].flatMap((page) =>
      Object.values<ArrayBufferView>({ ...page }),
    );
    const parts = [fingerprints, bucketStarts, this.#ids, ...this.#lists.values(), ...pages];
    return parts.filter((part) => part !== undefined);
  }

  /** The id of a key of 32 bytes, or undefined if no record of the segment names it. Exact. */
  find(key: Uint8Array): number | undefined {
    const name = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
    const known = this.#found.get(name);
    if (known !== undefined) return known < 0 ? undefined : known;
    const id = this.#search(key);
    if (this.#found.size >= foundCountMax) this.#found.clear();
    this.#found.set(name, id ?? -1);
    return id;
  }

  #search(key: Uint8Array): number | undefined {
    const words = new Uint32Array(key.slice().buffer);
    const hash = hashWords(words, 0);
    const { fingerprints, bucketStarts, bits } = this.#openFilter();
    const bucket = bucketOf(hash, bits);
    const end = bucketStarts[bucket + 1] as number;
    for (let place = bucketStarts[bucket] as number; place < end; place++) {
      if (fingerprints[place] !== fingerprintOf(hash)) continue;
      this.#ids ??= this.#segment.readIndexIds();
      const id = this.#ids[place] as number;
      if (this.#isKey(id, key)) return id;
    }
    return undefined;
  }

  /** An estimate of how many transactions mention the address: the bytes its list takes. */
  estimate(id: number): number {
    const page = this.#page(id);
    const place = id % pageKeyCount;
    const isEmpty = (page.firsts[place] as number) < 0;
    return isEmpty ? 0 : 1 + (page.ends[place] as number) - (page.starts[place] as number);
  }

  /** The transactions that mention the address, ascending, counted from the segment's first. Not to be changed. */
  transactions(id: number): Uint32Array {
    const known = this.#lists.get(id);
    if (known !== undefined) return known;
    const list = this.#decode(id);
    if (list.buffer.byteLength > listBytesMax) return list;
    const [oldest] = this.#lists.keys();
    if (oldest !== undefined && this.#lists.size === listCountMax) this.#lists.delete(oldest);
    this.#lists.set(id, list);
    return list;
  }

  #decode(id: number): Uint32Array {
    const page = this.#page(id);
    const place = id % pageKeyCount;
    const first = page.firsts[place] as number;
    if (first < 0) return new Uint32Array(0);
    const list = new Uint32Array(this.estimate(id));
    list[0] = first;
    let count = 1;
    let last = first;
    const { bytes } = page;
    const end = page.ends[place] as number;
    // Lists may be long: numbers are read in place, without a pair for each.
    for (let at = page.starts[place] as number; at < end; ) {
      let distance = 0;
      let scale = 1;
      let byte = bytes[at++] as number;
      for (; byte >= 0x80; byte = bytes[at++] as number) {
        distance += (byte & 0x7f) * scale;
        scale *= 128;
      }
      last += distance + byte * scale + 1;
      list[count++] = last;
    }
    return list.subarray(0, count);
  }

  #openFilter() {
    if (this.#filter !== undefined) return this.#filter;
    const { bucketCounts, fingerprints } = this.#segment.readFilter();
    const bucketStarts = new Uint32Array(bucketCounts.length + 1);
    bucketCounts.forEach((count, bucket) => {
      bucketStarts[bucket + 1] = (bucketStarts[bucket] as number) + count;
    });
    const bits = 31 - Math.clz32(bucketCounts.length);
    discard(bucketCounts);
    this.#filter = { fingerprints: ownCopy(fingerprints), bucketStarts, bits };
    return this.#filter;
  }

  #isKey(id: number, key: Uint8Array): boolean {
    const page = this.#segment.readDictionaryPage(Math.floor(id / pageKeyCount));
    const at = (id % pageKeyCount) * keyBytes;
    let isSame = true;
    for (let i = 0; i < keyBytes; i++) isSame &&= page[at + i] === key[i];
    discard(page);
    return isSame;
  }

  #page(id: number): PostingsPage {
    const number = Math.floor(id / pageKeyCount);
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = scanPostings(ownCopy(this.#segment.readPostingsPage(number)));
      this.#pages.set(number, page);
    }
    return page;
  }
}

/** Pages may be views of memory that is used again; what is kept must be our own. */
function ownCopy(page: Uint8Array): Uint8Array {
  const copy = new Uint8Array(page);
  discard(page);
  return copy;
}

function scanPostings(bytes: Uint8Array): PostingsPage {
  const starts = new Uint32Array(pageKeyCount);
  const ends = new Uint32Array(pageKeyCount);
  const firsts = new Int32Array(pageKeyCount).fill(-1);
  let first = 0;
  let at = 0;
  for (let place = 0; at < bytes.length; place++) {
    const [length, start] = readVarint(bytes, at);
    at = start + length;
    if (length === 0) continue;
    const [folded, rest] = readVarint(bytes, start);
    first += folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    firsts[place] = first;
    starts[place] = rest;
    ends[place] = at;
  }
  return { bytes, starts, ends, firsts };
}

function readVarint(bytes: Uint8Array, start: number): [value: number, next: number] {
  let value = 0;
  let scale = 1;
  let at = start;
  for (;;) {
    const byte = bytes[at++] as number;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return [value, at];
    scale *= 128;
  }
}
