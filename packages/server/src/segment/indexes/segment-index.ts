import { discard } from '@sluice/base/memory/discard';
import { hashWords, keyBytes } from '../layout/dictionary.ts';
import { PART } from '../layout/directory.ts';
import { pageKeyCount } from '../layout/limits.ts';
import type { Segment } from '../read/open-segment.ts';
import { canBeginWith } from './class-index.ts';
import { lookUp } from './hash-index.ts';
import { type ClassTable, openClassTable } from './index-builder.ts';

/** A page of postings with the position and first transaction of each of its addresses. */
interface PostingsPage {
  readonly bytes: Uint8Array;
  /** For each address of the page, the start and the end of the differences after its first transaction. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly firsts: Int32Array;
}

export interface KeySet {
  /** Identifies the content. */
  readonly version: string;
  readonly count: number;
  key(position: number): Uint8Array;
  /** Returns whether the set has the key whose bytes start at `at`. */
  has(keys: Uint8Array, at: number): boolean;
}

const foundCountMax = 4_096;
/** Looking one key up in the index takes as long as comparing this many keys of the dictionary with a set. */
const comparedPerLookup = 100;
/** The number of keys of the dictionary that are read at a time. */
const readCountMax = 16_384;
/** The number and length of cached lists. A longer list is decoded at each use. */
const listCountMax = 4;
const listBytesMax = 1 << 18;

/**
 * A longer page of postings is read again by the next query that needs another list of it. A few lists of the busiest addresses take most of
 * such a page, up to a megabyte in each of thousands of open segments, and a scan needs one or two of them, once.
 */
const keptPageBytesMax = 1 << 16;

/** A filter of instructions. Their data must start with one of the values of each list in `prefixes`. */
export interface ClassFilter {
  readonly programs: Uint32Array | undefined;
  readonly prefixes: readonly (readonly Uint8Array[])[];
  readonly committed: boolean | undefined;
}

/** The indexes of an open segment. Postings and classes are cached after the first read; hash indexes are read by position. */
export class SegmentIndex {
  readonly #segment: Segment;
  readonly #pages = new Map<number, PostingsPage>();
  /** Ids of keys that were looked up before, or -1: the same queries are repeated, and verifying a key reads a page. */
  readonly #found = new Map<string, number>();
  /** The most recent lists by id: items with the same address share one, and the same queries are repeated. */
  readonly #lists = new Map<number, Uint32Array>();
  /** The ids of the most recent sets, by version: items with the same set share them, and the same queries are repeated. */
  readonly #sets = new Map<string, Uint32Array>();
  #classes: ClassTable | undefined;
  #classBytes: Uint8Array | undefined;

  constructor(segment: Segment) {
    this.#segment = segment;
  }

  /** The size of the cached data, apart from a few kilobytes. */
  get byteLength(): number {
    return this.#parts().reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Frees the cached data without waiting for the garbage collector. The index must not be used afterwards. */
  release(): void {
    for (const part of this.#parts()) discard(part);
  }

  /** Frees the long pages. Lists that were decoded from them stay. */
  releaseLongPages(): void {
    for (const [number, page] of this.#pages) {
      if (page.bytes.length <= keptPageBytesMax) continue;
      this.#pages.delete(number);
      for (const part of viewsOf(page)) discard(part);
    }
  }

  #parts(): ArrayBufferView[] {
    const pages = [...this.#pages.values()].flatMap(viewsOf);
    const lists = [...this.#lists.values(), ...this.#sets.values()];
    const parts = [this.#classBytes, ...lists, ...pages];
    return parts.filter((part) => part !== undefined);
  }

  /** Returns the id of a key of 32 bytes, or undefined if no record of the segment names it. The result is exact. */
  find(key: Uint8Array): number | undefined {
    const name = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
    const known = this.#found.get(name);
    if (known !== undefined) return known < 0 ? undefined : known;
    const id = this.#search(key);
    if (this.#found.size >= foundCountMax) this.#found.clear();
    this.#found.set(name, id ?? -1);
    return id;
  }

  /**
   * Returns the ids of the keys of a set that the segment has, ascending. The caller must not modify them. Looks up the keys of a small set;
   * otherwise compares the dictionary with the set, so that the time does not grow with the set.
   */
  findSet(set: KeySet): Uint32Array {
    const known = this.#sets.get(set.version);
    if (known !== undefined) return known;
    const isSmall = set.count * comparedPerLookup <= this.#segment.addressCount;
    const ids = isSmall ? this.#lookUpAll(set) : this.#compareAll(set);
    if (ids.byteLength > listBytesMax) return ids;
    const [oldest] = this.#sets.keys();
    if (oldest !== undefined && this.#sets.size === listCountMax) this.#sets.delete(oldest);
    this.#sets.set(set.version, ids);
    return ids;
  }

  #lookUpAll(set: KeySet): Uint32Array {
    const ids: number[] = [];
    for (let i = 0; i < set.count; i++) {
      const id = this.#search(set.key(i));
      if (id !== undefined) ids.push(id);
    }
    return Uint32Array.from(ids).sort();
  }

  #compareAll(set: KeySet): Uint32Array {
    const ids: number[] = [];
    const { addressCount } = this.#segment;
    for (let first = 0; first < addressCount; first += readCountMax) {
      const count = Math.min(readCountMax, addressCount - first);
      const keys = this.#segment.readKeys(first, count);
      for (let i = 0; i < count; i++) if (set.has(keys, i * keyBytes)) ids.push(first + i);
    }
    return Uint32Array.from(ids);
  }

  #search(key: Uint8Array): number | undefined {
    const hash = hashWords(new Uint32Array(key.slice().buffer), 0);
    for (const id of this.#lookUp(PART.addressIndex, hash)) {
      if (areEqual(this.#segment.readKeys(id, 1), key)) return id;
    }
    return undefined;
  }

  /** Returns the transactions that may have a signature of 64 bytes: all that have it, and few others. */
  findSignature(signature: Uint8Array): number[] {
    return this.#lookUp(PART.signatureIndex, hashSignature(signature));
  }

  #lookUp(kind: number, hash: number): number[] {
    const { storedLength } = this.#segment.partEntry(kind, 0);
    return lookUp(hash, storedLength, (part, offset, length) =>
      this.#segment.readPart(kind, INDEX_PARTS[part], offset, length),
    );
  }

  get classes(): ClassTable {
    if (this.#classes === undefined) {
      this.#segment.expectParts(PART.classes);
      const ints = (number: number) => this.#segment.readIntUnit(PART.classes, number);
      const bytes = (number: number) => ownCopy(this.#segment.readUnit(PART.classes, number));
      const columns = {
        programs: ints(0),
        shapes: ints(1),
        prefixes: bytes(2),
        instructionCounts: ints(3),
        transactionCounts: ints(4),
        lengths: ints(5),
        lists: bytes(6),
      };
      this.#classBytes = columns.lists;
      this.#classes = openClassTable(columns);
    }
    return this.#classes;
  }

  /** Returns the classes whose instructions can match. */
  findClasses({ programs, prefixes, committed }: ClassFilter): number[] {
    const { classes } = this;
    const found: number[] = [];
    const ranges =
      programs === undefined
        ? [[0, classes.count] as const]
        : Array.from(programs, classes.ofProgram);
    for (const [first, end] of ranges) {
      for (let number = first; number < end; number++) {
        const row = classes.row(number);
        if (committed !== undefined && row.committed !== Number(committed)) continue;
        if (prefixes.every((values) => values.some((value) => canBeginWith(row, value))))
          found.push(number);
      }
    }
    return found;
  }

  /** Estimates how many transactions mention the address, from the size of its list. */
  estimate(id: number): number {
    const page = this.#page(id);
    const position = id % pageKeyCount;
    const isEmpty = (page.firsts[position] as number) < 0;
    return isEmpty ? 0 : 1 + (page.ends[position] as number) - (page.starts[position] as number);
  }

  /** Returns the transactions that mention the address: ascending, numbered from the segment's first. The caller must not modify them. */
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
    const position = id % pageKeyCount;
    const first = page.firsts[position] as number;
    if (first < 0) return new Uint32Array(0);
    const list = new Uint32Array(this.estimate(id));
    list[0] = first;
    let count = 1;
    let last = first;
    const { bytes } = page;
    const end = page.ends[position] as number;
    // Lists may be long, so numbers are decoded in place, without allocating a pair for each.
    for (let at = page.starts[position] as number; at < end; ) {
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

  #page(id: number): PostingsPage {
    const number = Math.floor(id / pageKeyCount);
    let page = this.#pages.get(number);
    if (page === undefined) {
      // The page of a small segment, such as a block at the head, has much fewer keys than a page can have.
      const rest = this.#segment.addressCount - number * pageKeyCount;
      const count = Math.min(pageKeyCount, rest);
      page = scanPostings(ownCopy(this.#segment.readUnit(PART.postings, number)), count);
      this.#pages.set(number, page);
    }
    return page;
  }
}

/** Returns the hash by which the signature index knows a signature of 64 bytes. */
export function hashSignature(signature: Uint8Array): number {
  return hashWords(new Uint32Array(signature.slice().buffer), 0, signature.length / 4);
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < b.length; i++) if (a[i] !== b[i]) return false;
  return a.length === b.length;
}

/** A page may be a view of memory that is reused or belongs to a whole segment. Such a page is copied before it is cached. */
function ownCopy(page: Uint8Array): Uint8Array {
  const isWholeBuffer = page.buffer.byteLength === page.byteLength;
  return isWholeBuffer ? page : new Uint8Array(page);
}

function viewsOf(page: PostingsPage): ArrayBufferView[] {
  return Object.values<ArrayBufferView>({ ...page });
}

function scanPostings(bytes: Uint8Array, keyCount: number): PostingsPage {
  const starts = new Uint32Array(keyCount);
  const ends = new Uint32Array(keyCount);
  const firsts = new Int32Array(keyCount).fill(-1);
  let at = 0;
  const next = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at++] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  let first = 0;
  for (let position = 0; at < bytes.length; position++) {
    const length = next();
    const end = at + length;
    if (length > 0) {
      const folded = next();
      first += folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
      firsts[position] = first;
      starts[position] = at;
      ends[position] = end;
    }
    at = end;
  }
  return { bytes, starts, ends, firsts };
}

const INDEX_PARTS = { blocks: 0, fingerprints: 1, values: 2 } as const;
