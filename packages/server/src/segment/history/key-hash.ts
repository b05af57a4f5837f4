/**
 * The hashes by which an index over segments knows a key. A hash has 48 bits, so that it stays exact in a number, and among the 100 billion
 * keys of a year an absent one is rarely taken for a present one.
 */

import type { Steps } from '@sluice/base/time-slices';

const addressWords = 8;

/** The kinds of keys. The same bytes as keys of different kinds have different hashes. */
const KIND = {
  /** An address that a record names. */
  address: 0x1234_5678,
  signature: 0x2345_6789,
  /** A program, and the first 1, 2, 4 or 8 bytes of the data of one of its instructions. */
  prefix: 0x3456_789a,
  /** A program, and the prefix of a class of its instructions, which may be shorter than a discriminator. */
  class: 0x4567_89ab,
} as const;

type KeyKind = keyof typeof KIND;

export const hashCount = 2 ** 48;
const lowCount = 2 ** 16;

/** Returns the hash of words at a position. */
export function hashKeyAt(kind: KeyKind, words: Uint32Array, at: number, count: number): number {
  let high: number = KIND[kind];
  let low = ~high;
  for (let i = 0; i < count; i++) {
    const word = words[at + i] ?? 0;
    high = Math.imul(high ^ word, 0x9e37_79b1);
    high ^= high >>> 15;
    low = Math.imul(low ^ word, 0x85eb_ca77);
    low ^= low >>> 13;
    low = Math.imul(low, 0xc2b2_ae3d);
    high = Math.imul(high ^ low, 0x27d4_eb2f);
    high ^= high >>> 16;
  }
  low ^= low >>> 16;
  return (high >>> 0) * lowCount + (low & 0xffff);
}

export function hashAddress(address: Uint8Array): number {
  return hashBytes('address', address);
}

/** Hashing this many addresses takes less than a millisecond. */
const stepHashCount = 10_000;
/** Hashes are sorted in this many parts. */
const sortedPartCount = 256;

/** Returns the hashes of addresses, which follow each other in memory, in ascending order. */
export function* sortHashesSteps({ bytes }: { readonly bytes: Uint8Array }): Steps<Float64Array> {
  const words = wordsOf(bytes);
  const count = words.length / addressWords;
  const hashes = new Float64Array(count);
  const ends = new Uint32Array(sortedPartCount);
  const partOf = (hash: number) => Math.trunc(hash / (hashCount / sortedPartCount));
  for (let i = 0; i < count; i++) {
    if (i % stepHashCount === 0) yield;
    const hash = hashKeyAt('address', words, i * addressWords, addressWords);
    hashes[i] = hash;
    const part = partOf(hash);
    ends[part] = (ends[part] ?? 0) + 1;
  }
  for (let part = 1; part < ends.length; part++)
    ends[part] = (ends[part] ?? 0) + (ends[part - 1] ?? 0);
  const starts = ends.map((_, part) => ends[part - 1] ?? 0);
  const next = starts.slice();
  const sorted = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    if (i % stepHashCount === 0) yield;
    const hash = hashes[i] ?? 0;
    const part = partOf(hash);
    const at = next[part] ?? 0;
    next[part] = at + 1;
    sorted[at] = hash;
  }
  for (const [part, start] of starts.entries()) {
    yield;
    sorted.subarray(start, ends[part]).sort();
  }
  return sorted;
}

export function hashSignatureKey(signature: Uint8Array): number {
  return hashBytes('signature', signature);
}

/** Returns the hash of a program with first bytes of instruction data, at most 8. */
export function hashPrefix(
  kind: 'prefix' | 'class',
  program: Uint8Array,
  prefix: Uint8Array,
): number {
  const bytes = new Uint8Array(program.length + 12);
  bytes.set(program);
  bytes.set(prefix, program.length);
  bytes[program.length + 8] = prefix.length;
  return hashBytes(kind, bytes);
}

function hashBytes(kind: KeyKind, bytes: Uint8Array): number {
  const words = wordsOf(bytes);
  return hashKeyAt(kind, words, 0, words.length);
}

/** Returns bytes as words. They are copied, because a view of words must be aligned. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer);
}
