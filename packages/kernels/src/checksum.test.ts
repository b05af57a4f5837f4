/** The checksums of chunks are the lower half of XXH64, as its specification defines it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KernelUnderTest } from './testing/kernel-memory.ts';

interface ChecksumExports {
  checksumChunks(bytes: number, length: number, chunkBytes: number, out: number): void;
  findDamagedChunk(bytes: number, length: number, chunkBytes: number, expected: number): number;
}

const kernels = ['codec', 'engine'].map((name) => new KernelUnderTest<ChecksumExports>(name));
const codec = kernels[0] as KernelUnderTest<ChecksumExports>;

const mask = (1n << 64n) - 1n;
const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;
const rotate = (value: bigint, bits: bigint) => ((value << bits) | (value >> (64n - bits))) & mask;
const times = (a: bigint, b: bigint) => (a * b) & mask;
const round = (sum: bigint, word: bigint) => times(rotate((sum + times(word, P2)) & mask, 31n), P1);

/** XXH64 with seed 0, written after its specification. */
function xxh64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  let hash = P5;
  if (bytes.length >= 32) {
    const sums = [(P1 + P2) & mask, P2, 0n, -P1 & mask];
    for (; at + 32 <= bytes.length; at += 32)
      for (let i = 0; i < 4; i++)
        sums[i] = round(sums[i] as bigint, view.getBigUint64(at + i * 8, true));
    const [a, b, c, d] = sums as [bigint, bigint, bigint, bigint];
    hash = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & mask;
    for (const sum of sums) hash = (times(hash ^ round(0n, sum), P1) + P4) & mask;
  }
  hash = (hash + BigInt(bytes.length)) & mask;
  for (; at + 8 <= bytes.length; at += 8) {
    hash ^= round(0n, view.getBigUint64(at, true));
    hash = (times(rotate(hash, 27n), P1) + P4) & mask;
  }
  if (at + 4 <= bytes.length) {
    hash ^= times(BigInt(view.getUint32(at, true)), P1);
    hash = (times(rotate(hash, 23n), P2) + P3) & mask;
    at += 4;
  }
  for (; at < bytes.length; at++) {
    hash ^= times(BigInt(bytes[at] as number), P5);
    hash = times(rotate(hash, 11n), P1);
  }
  hash = times(hash ^ (hash >> 33n), P2);
  hash = times(hash ^ (hash >> 29n), P3);
  return hash ^ (hash >> 32n);
}

function checksum(bytes: Uint8Array): number {
  codec.reset();
  const at = codec.bytes(bytes);
  const out = codec.reserve(4);
  codec.exports.checksumChunks(at, bytes.length, Math.max(1, bytes.length), out);
  return codec.readInts(out, 1)[0] as number;
}

const text = (value: string) => new TextEncoder().encode(value);
const noise = (length: number) =>
  Uint8Array.from({ length }, (_, i) => (Math.imul(i + length, 2_654_435_761) >>> 11) & 0xff);

test('default: checksums are equal to the published digests', () => {
  const published: [string, bigint][] = [
    ['', 0xef46db3751d8e999n],
    ['a', 0xd24ec4f1a98c6e5bn],
    ['abc', 0x44bc2cf5ad770999n],
    ['Nobody inspects the spammish repetition', 0xfbcea83c8a378bf1n],
  ];
  for (const [value, digest] of published) {
    expect(xxh64(text(value)), value).toBe(digest);
    // No chunk is empty.
    if (value.length > 0) expect(checksum(text(value))).toBe(Number(digest & 0xffff_ffffn));
  }
});

test('behavior: checksums are correct for every length from 1 to 300 bytes, and around a whole chunk', () => {
  const lengths = [...Array.from({ length: 300 }, (_, i) => i + 1), 2_047, 2_048, 2_049];
  for (const length of lengths) {
    const bytes = noise(length);
    expect(checksum(bytes), `${length} bytes`).toBe(Number(xxh64(bytes) & 0xffff_ffffn));
  }
});

test('property: each chunk has its own checksum, and the first one that differs is found', () => {
  const cases = fc.record({
    bytes: fc.uint8Array({ minLength: 1, maxLength: 400 }),
    chunkBytes: fc.constantFrom(1, 7, 32, 64, 100),
    flipped: fc.nat(),
  });
  fc.assert(
    fc.property(cases, ({ bytes, chunkBytes, flipped }) => {
      const count = Math.ceil(bytes.length / chunkBytes);
      const sums = Array.from({ length: count }, (_, i) =>
        Number(xxh64(bytes.slice(i * chunkBytes, (i + 1) * chunkBytes)) & 0xffff_ffffn),
      );
      codec.reset();
      const out = codec.reserve(count * 4);
      codec.exports.checksumChunks(codec.bytes(bytes), bytes.length, chunkBytes, out);
      expect(codec.readInts(out, count)).toEqual(sums);
      for (const kernel of kernels) {
        kernel.reset();
        const at = kernel.bytes(bytes);
        const expected = kernel.ints(sums);
        const find = () => kernel.exports.findDamagedChunk(at, bytes.length, chunkBytes, expected);
        expect(find()).toBe(-1);
        const position = flipped % bytes.length;
        const damaged = Uint8Array.from(bytes);
        damaged[position] = (damaged[position] as number) ^ (1 << (flipped % 8));
        const other = kernel.bytes(damaged);
        expect(kernel.exports.findDamagedChunk(other, bytes.length, chunkBytes, expected)).toBe(
          Math.floor(position / chunkBytes),
        );
      }
    }),
    { numRuns: 100 },
  );
});
