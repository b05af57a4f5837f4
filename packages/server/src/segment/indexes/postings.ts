/**
 * Maps an address id to the transactions that mention it.
 *
 *   postings per page of 4,096 ids:
 *     for each id varint byte length · zigzag varint (first transaction - that of the previous id) · varint differences - 1 …
 */
import { pageKeyCount } from '../layout/limits.ts';

/** Collects the mentioned addresses of each transaction in order, then writes the pages. */
export class PostingsBuilder {
  /** For each entry the id of the address and the transaction, in the order of insertion. */
  #ids = new Uint32Array(1 << 12);
  #transactions = new Uint32Array(1 << 12);
  #length = 0;

  /** `ids` may have an id several times. Duplicates within a transaction are dropped when pages are written. */
  add(transaction: number, ids: Uint32Array): void {
    if (this.#length + ids.length > this.#ids.length) this.#grow(this.#length + ids.length);
    this.#ids.set(ids, this.#length);
    this.#transactions.fill(transaction, this.#length, this.#length + ids.length);
    this.#length += ids.length;
  }

  /** Returns the pages, and for each id the number of transactions that mention it. */
  build(addressCount: number): { pages: Uint8Array[]; counts: Uint32Array } {
    const lists = this.#sort(addressCount);
    const pages: Uint8Array[] = [];
    const counts = new Uint32Array(addressCount);
    for (let first = 0; first < addressCount; first += pageKeyCount) {
      const last = Math.min(first + pageKeyCount, addressCount);
      pages.push(encodePostings(lists, { first, last }, counts));
    }
    return { pages, counts };
  }

  /** Counting sort by id. It is stable, so each id's transactions ascend. */
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
      const position = cursor[id] as number;
      cursor[id] = position + 1;
      sorted[position] = this.#transactions[i] as number;
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
  { starts, sorted }: { starts: Uint32Array; sorted: Uint32Array },
  { first, last }: { first: number; last: number },
  counts: Uint32Array,
): Uint8Array {
  const postingCount = (starts[last] as number) - (starts[first] as number);
  const page = new Uint8Array((postingCount + last - first) * varintBytesMax);
  let at = 0;
  let firstBefore = 0;
  for (let id = first; id < last; id++) {
    const start = starts[id] as number;
    const end = starts[id + 1] as number;
    // The length is stored before the entry but known only after it. Most lengths fit one byte; for others the entry is moved.
    const entry = at + 1;
    let next = entry;
    if (end > start) {
      const firstTransaction = sorted[start] as number;
      const distance = firstTransaction - firstBefore;
      next = writeVarint(page, next, distance < 0 ? -distance * 2 - 1 : distance * 2);
      firstBefore = firstTransaction;
      let count = 1;
      for (let i = start + 1; i < end; i++) {
        const step = (sorted[i] as number) - (sorted[i - 1] as number);
        if (step === 0) continue;
        next = writeVarint(page, next, step - 1);
        count++;
      }
      counts[id] = count;
    }
    const length = next - entry;
    const moved = varintBytes(length);
    if (moved > 1) page.copyWithin(at + moved, entry, next);
    writeVarint(page, at, length);
    at += moved + length;
  }
  return page.subarray(0, at);
}

/** The longest varint of 32 bits. */
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
