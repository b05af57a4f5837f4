/**
 * From an address to its id, and from an id to the transactions that mention it.
 *
 *   filter   bucket counts u8[2^k] · fingerprints u8[n]     is it here at all? (8 entries a bucket: 3 % say yes wrongly)
 *   ids      int[n], aligned with the fingerprints           its id; the key page then proves it
 *   postings per page of 4,096 ids: for each id
 *            varint byte length · zigzag varint (first transaction - first of the id before) · varint distances - 1 …
 *
 * A key's bucket and fingerprint come from one 32-bit hash of its bytes.
 */
import { hashWords } from './dictionary.ts';
import { pageKeyCount } from './limits.ts';

export interface AddressIndex {
  readonly bucketCounts: Uint8Array;
  readonly fingerprints: Uint8Array;
  readonly ids: Uint32Array;
}

const bucketEntriesGoal = 8;
const bucketEntriesMax = 255;

function bucketBitsFor(addressCount: number): number {
  let bits = 0;
  while (bucketEntriesGoal * 2 ** bits < addressCount) bits++;
  return bits;
}

export function bucketOf(hash: number, bucketBits: number): number {
  return bucketBits === 0 ? 0 : hash >>> (32 - bucketBits);
}

export function fingerprintOf(hash: number): number {
  return hash & 0xff;
}

export function buildAddressIndex(keys: Uint8Array, addressCount: number): AddressIndex {
  let bits = bucketBitsFor(addressCount);
  for (;;) {
    const index = tryBuild(keys, addressCount, bits);
    if (index !== undefined) return index;
    bits++;
  }
}

function tryBuild(keys: Uint8Array, addressCount: number, bits: number): AddressIndex | undefined {
  const words = new Uint32Array(keys.buffer, keys.byteOffset, addressCount * 8);
  const hashes = new Uint32Array(addressCount);
  const starts = new Uint32Array((1 << bits) + 1);
  for (let id = 0; id < addressCount; id++) {
    const hash = hashWords(words, id * 8);
    hashes[id] = hash;
    const bucket = bucketOf(hash, bits) + 1;
    starts[bucket] = (starts[bucket] as number) + 1;
  }
  if (starts.some((count) => count > bucketEntriesMax)) return undefined;
  const bucketCounts = Uint8Array.from(starts.subarray(1));
  for (let i = 1; i < starts.length; i++)
    starts[i] = (starts[i] as number) + (starts[i - 1] as number);
  const fingerprints = new Uint8Array(addressCount);
  const ids = new Uint32Array(addressCount);
  for (let id = 0; id < addressCount; id++) {
    const hash = hashes[id] as number;
    const bucket = bucketOf(hash, bits);
    const place = starts[bucket] as number;
    starts[bucket] = place + 1;
    fingerprints[place] = fingerprintOf(hash);
    ids[place] = id;
  }
  return { bucketCounts, fingerprints, ids };
}

/** Collects, transaction by transaction in order, who is mentioned where; then writes the pages. */
export class PostingsBuilder {
  /** By entry: id of the address and transaction, in the order they came. */
  #ids = new Uint32Array(1 << 12);
  #transactions = new Uint32Array(1 << 12);
  #length = 0;

  /** `ids` may repeat; repeats within one transaction are dropped when pages are written. */
  add(transaction: number, ids: Uint32Array): void {
    if (this.#length + ids.length > this.#ids.length) this.#grow(this.#length + ids.length);
    this.#ids.set(ids, this.#length);
    this.#transactions.fill(transaction, this.#length, this.#length + ids.length);
    this.#length += ids.length;
  }

  pages(addressCount: number): Uint8Array[] {
    const { starts, sorted } = this.#sort(addressCount);
    const pages: Uint8Array[] = [];
    for (let first = 0; first < addressCount; first += pageKeyCount) {
      const last = Math.min(first + pageKeyCount, addressCount);
      pages.push(encodePostings(starts, sorted, first, last));
    }
    return pages;
  }

  /** Counting sort by id; stable, so each id's transactions ascend. */
  #sort(addressCount: number): { starts: Uint32Array; sorted: Uint32Array } {
    const starts = new Uint32Array(addressCount + 1);
    for (let i = 0; i < this.#length; i++) {
      const id = (this.#ids[i] as number) + 1;
      starts[id] = (starts[id] as number) + 1;
    }
    for (let i = 1; i <= addressCount; i++)
      starts[i] = (starts[i] as number) + (starts[i - 1] as number);
    const cursor = starts.slice();
    const sorted = new Uint32Array(this.#length);
    for (let i = 0; i < this.#length; i++) {
      const id = this.#ids[i] as number;
      const place = cursor[id] as number;
      cursor[id] = place + 1;
      sorted[place] = this.#transactions[i] as number;
    }
    return { starts, sorted };
  }

  #grow(least: number): void {
    const length = Math.max(least, this.#ids.length * 2);
    const ids = new Uint32Array(length);
    ids.set(this.#ids);
    this.#ids = ids;
    const transactions = new Uint32Array(length);
    transactions.set(this.#transactions);
    this.#transactions = transactions;
  }
}

function encodePostings(
  starts: Uint32Array,
  sorted: Uint32Array,
  first: number,
  last: number,
): Uint8Array {
  const postingCount = (starts[last] as number) - (starts[first] as number);
  const page = new Uint8Array((postingCount + last - first) * varintBytesMax);
  let at = 0;
  let firstBefore = 0;
  for (let id = first; id < last; id++) {
    const start = starts[id] as number;
    const end = starts[id + 1] as number;
    // The length stands before the entry and is known after it; most fit one byte, and others are moved up.
    const entry = at + 1;
    let next = entry;
    if (end > start) {
      const firstTransaction = sorted[start] as number;
      const distance = firstTransaction - firstBefore;
      next = writeVarint(page, next, distance < 0 ? -distance * 2 - 1 : distance * 2);
      firstBefore = firstTransaction;
      for (let i = start + 1; i < end; i++) {
        const step = (sorted[i] as number) - (sorted[i - 1] as number);
        if (step > 0) next = writeVarint(page, next, step - 1);
      }
    }
    const length = next - entry;
    const moved = varintBytes(length);
    if (moved > 1) page.copyWithin(at + moved, entry, next);
    writeVarint(page, at, length);
    at += moved + length;
  }
  return page.subarray(0, at);
}

/** Of 32 bits. */
const varintBytesMax = 5;

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

function writeVarint(out: Uint8Array, at: number, value: number): number {
  let rest = value;
  let next = at;
  while (rest >= 0x80) {
    out[next++] = (rest & 0x7f) | 0x80;
    rest = Math.floor(rest / 128);
  }
  out[next++] = rest;
  return next;
}
