/**
 * A named set of addresses, which filters of queries refer to. Its keys are in memory that all threads share, and never change: a set with
 * other content is another version.
 *
 *   bits   one bit for each possible start of a key, so that most absent keys are rejected by reading one byte
 *   keys   32 bytes each, ascending by their bytes, without duplicates
 */
import { createHash } from 'node:crypto';
import { assert } from '@sluice/base/assert';
import { describeBase58Fault } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import type { Steps } from '@sluice/base/time-slices';
import { base58Codec } from '@sluice/kernels/base58-codec';

export interface AddressSet {
  readonly name: string;
  /** The first 16 hex digits of the SHA-256 of its keys. */
  readonly version: string;
  readonly count: number;
  readonly memory: SharedArrayBuffer;
}

/** The sets that queries can refer to. */
export interface AddressSets {
  /** Returns the current version of a set, or the given one if it is still known. */
  find(name: string, version?: string): AddressSet | undefined;
}

/** The name of a set, which is also the name of its file. */
export const setNamePattern = /^[\w-]{1,64}$/;

/** The most addresses of a set. A million takes 34 MB of memory. */
export const setAddressCountMax = 1_000_000;

export const keyBytes = 32;
const versionDigits = 16;

/** Bits for each address, so that about one of 16 absent keys is compared. At most three bytes of a key select a bit. */
const bitsPerKey = 16;
const startBitsMin = 10;
const startBitsMax = 24;

/** Reading this many addresses takes less than a millisecond. */
const stepAddressCount = 1_000;
/** Sorting the keys of this many buckets takes less than a millisecond. */
const stepBucketCount = 128;

/** Reads the keys of a text with one address on each line. Empty lines, and lines that begin with `#`, are ignored. */
export function* readKeysSteps(text: Buffer): Steps<Uint8Array> {
  const codec = base58Codec();
  let keys = new Uint8Array(stepAddressCount * keyBytes);
  let [count, lineNumber] = [0, 0];
  for (let start = 0; start < text.length; ) {
    const feed = text.indexOf(0x0a, start);
    const end = feed < 0 ? text.length : feed;
    const line = text.toString('latin1', start, end).trim();
    lineNumber++;
    start = end + 1;
    if (lineNumber % stepAddressCount === 0) yield;
    if (line === '' || line.startsWith('#')) continue;
    if (codec.decode(line) !== keyBytes)
      throw new CodedError('set-invalid', {
        line: lineNumber,
        fault: describeBase58Fault(line.slice(0, 100)),
        allowed: 'one address on each line, base58 of 32 bytes',
      });
    if (count === setAddressCountMax)
      throw new CodedError('set-too-large', {
        allowed: `${setAddressCountMax} addresses in a set`,
      });
    if (keys.length === count * keyBytes) {
      const grown = new Uint8Array(keys.length * 2);
      grown.set(keys);
      keys = grown;
    }
    keys.set(codec.bytes.subarray(0, keyBytes), count++ * keyBytes);
  }
  return keys.subarray(0, count * keyBytes);
}

/** Returns keys in ascending order, without duplicates. */
export function* sortKeysSteps(keys: Uint8Array): Steps<Uint8Array> {
  const count = keys.length / keyBytes;
  // Keys are distributed to buckets by their first two bytes. Most of them are random, so a bucket has few.
  const bucketOf = (i: number) =>
    elementAt(keys, i * keyBytes) * 256 + elementAt(keys, i * keyBytes + 1);
  const ends = new Uint32Array(65_536);
  for (let i = 0; i < count; i++) ends[bucketOf(i)] = elementAt(ends, bucketOf(i)) + 1;
  yield;
  for (let bucket = 1; bucket < ends.length; bucket++)
    ends[bucket] = elementAt(ends, bucket) + elementAt(ends, bucket - 1);
  yield;
  const starts = Uint32Array.from(ends, (_, bucket) => ends[bucket - 1] ?? 0);
  const order = new Uint32Array(count);
  const next = starts.slice();
  for (let i = 0; i < count; i++) {
    const at = elementAt(next, bucketOf(i));
    next[bucketOf(i)] = at + 1;
    order[at] = i;
  }
  const sorted = new Uint8Array(keys.length);
  let sortedCount = 0;
  for (let bucket = 0; bucket < ends.length; bucket++) {
    if (bucket % stepBucketCount === 0) yield;
    const members = order.subarray(elementAt(starts, bucket), elementAt(ends, bucket));
    members.sort((a, b) => compareKeys(keys, a * keyBytes, keys, b * keyBytes));
    for (const i of members) {
      const at = sortedCount * keyBytes;
      if (sortedCount > 0 && compareKeys(sorted, at - keyBytes, keys, i * keyBytes) === 0) continue;
      sorted.set(keys.subarray(i * keyBytes, (i + 1) * keyBytes), at);
      sortedCount++;
    }
  }
  return sorted.subarray(0, sortedCount * keyBytes);
}

export function buildSet(name: string, keys: Uint8Array): AddressSet {
  const count = keys.length / keyBytes;
  const bitBytes = 2 ** startBitsOf(count) / 8;
  const memory = new SharedArrayBuffer(bitBytes + keys.length);
  new Uint8Array(memory, bitBytes).set(keys);
  const bits = new Uint8Array(memory, 0, bitBytes);
  const shift = startBitsMax - startBitsOf(count);
  for (let at = 0; at < keys.length; at += keyBytes) {
    const bit = startOf(keys, at) >>> shift;
    bits[bit >>> 3] = elementAt(bits, bit >>> 3) | (1 << (bit & 7));
  }
  return { name, version: digestKeys(keys).slice(0, versionDigits), count, memory };
}

export function digestKeys(keys: Uint8Array): string {
  return createHash('sha256').update(keys).digest('hex');
}

/** Reads the keys of a set in any thread. */
export class SetKeys {
  readonly set: AddressSet;
  readonly bytes: Uint8Array;
  readonly #bits: Uint8Array;
  readonly #shift: number;

  constructor(set: AddressSet) {
    const bitBytes = 2 ** startBitsOf(set.count) / 8;
    assert(
      set.memory.byteLength === bitBytes + set.count * keyBytes,
      'the size of a set follows from its number of addresses',
    );
    this.set = set;
    this.#bits = new Uint8Array(set.memory, 0, bitBytes);
    this.bytes = new Uint8Array(set.memory, bitBytes);
    this.#shift = startBitsMax - startBitsOf(set.count);
  }

  get version(): string {
    return this.set.version;
  }

  get count(): number {
    return this.set.count;
  }

  key(position: number): Uint8Array {
    return this.bytes.subarray(position * keyBytes, (position + 1) * keyBytes);
  }

  /** Returns whether the set has the key whose bytes start at `at`. */
  has(keys: Uint8Array, at: number): boolean {
    const bit = startOf(keys, at) >>> this.#shift;
    if (((this.#bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
    let [low, high] = [0, this.set.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compareKeys(this.bytes, middle * keyBytes, keys, at);
      if (order === 0) return true;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return false;
  }
}

function startBitsOf(count: number): number {
  const bits = Math.ceil(Math.log2(Math.max(1, count) * bitsPerKey));
  return Math.min(Math.max(bits, startBitsMin), startBitsMax);
}

function startOf(keys: Uint8Array, at: number): number {
  return ((keys[at] ?? 0) << 16) | ((keys[at + 1] ?? 0) << 8) | (keys[at + 2] ?? 0);
}

function compareKeys(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): number {
  for (let i = 0; i < keyBytes; i++) {
    const difference = (a[aAt + i] ?? 0) - (b[bAt + i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
