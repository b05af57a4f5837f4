import { decodeBase58 } from '@sluice/base/base58';
import { runToCompletion } from '@sluice/base/time-slices';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { openSegment } from '../read/open-segment.ts';
import { buildSegment } from '../write/build-segment.ts';
import { collectKeys } from './collect-keys.ts';
import {
  hashAddress,
  hashCount,
  hashPrefix,
  hashSignatureKey,
  sortHashesSteps,
} from './key-hash.ts';
import { decodeHeader, headerBytes, pageOf, pageStart } from './layout.ts';
import { findAnyParts, findParts, IndexKeys, readParts, SegmentKeys } from './read-index.ts';
import { type KeySource, type SlotRange, writeIndex } from './write-index.ts';

/** A file in memory. */
class MemoryFile {
  bytes = new Uint8Array(0);

  readonly write = (position: number, bytes: Uint8Array) => {
    if (position + bytes.length > this.bytes.length) {
      const grown = new Uint8Array(position + bytes.length);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    this.bytes.set(bytes, position);
  };

  read(position: number, length: number): Uint8Array {
    return this.bytes.slice(position, position + length);
  }

  readonly readAt = async (position: number, length: number) => this.read(position, length);
}

function build(sources: readonly KeySource[]): MemoryFile {
  const file = new MemoryFile();
  const shape = writeIndex(sources, file.write);
  expect(decodeHeader(file.read(0, headerBytes))).toEqual(shape);
  return file;
}

const find = (file: MemoryFile, hash: number) =>
  findParts(hash, decodeHeader(file.bytes), file.readAt);

const rangeOf = (part: number): SlotRange => ({ first: part * 10, last: part * 10 + 9 });

function sourceOf(part: number, hashes: readonly number[]): KeySource {
  return new SegmentKeys(rangeOf(part), Float64Array.from(hashes));
}

/** Hashes that are near each other, at the ends, and anywhere. */
const hash = fc.oneof(
  fc.nat(50),
  fc.integer({ min: hashCount - 50, max: hashCount - 1 }),
  fc.integer({ min: 0, max: hashCount - 1 }),
);
const keySet = fc.uniqueArray(hash, { maxLength: 60 }).map((keys) => keys.sort((a, b) => a - b));

test('property: any number of segments and indexes are merged to the parts of each key', async () => {
  const sets = fc.array(keySet, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(sets, fc.array(fc.nat(12), { maxLength: 3 }), async (parts, cuts) => {
      const ends = [...new Set([...cuts.map((cut) => cut % parts.length), parts.length])];
      const sources: KeySource[] = [];
      let first = 0;
      for (const end of ends.sort((a, b) => a - b)) {
        const own = parts.slice(first, end).map((keys, i) => sourceOf(first + i, keys));
        if (own.length > 1) sources.push(new IndexKeys(build(own)));
        else sources.push(...own);
        first = end;
      }
      const file = build(sources);
      const shape = decodeHeader(file.bytes);
      expect(await readParts(shape, file.readAt)).toEqual(
        Float64Array.from(parts.flatMap((_, part) => [rangeOf(part).first, rangeOf(part).last])),
      );
      const keys = new Set(parts.flat());
      expect(shape.keyCount).toBe(keys.size);
      for (const key of keys) {
        const expected = parts.flatMap((own, part) => (own.includes(key) ? [part] : []));
        expect(await find(file, key)).toEqual(expected);
      }
      const wanted = [...keys].filter((_, i) => i % 3 === 0);
      const absent = wanted.map((key) => key + 1).filter((key) => key < hashCount);
      const expected = parts.flatMap((own, part) =>
        own.some((key) => wanted.includes(key) || absent.includes(key)) ? [part] : [],
      );
      const hashes = Float64Array.from([...wanted, ...absent]).sort();
      expect(await findAnyParts(hashes, shape, file.readAt)).toEqual(expected);
      for (const key of [...keys].map((known) => known + 1))
        if (!keys.has(key) && key < hashCount) expect(await find(file, key)).toEqual([]);
    }),
    { numRuns: 60, seed: 7 },
  );
});

test('behavior: a key in more than a quarter of many parts counts as being in all, also after a merge', async () => {
  const parts = Array.from({ length: 100 }, (_, part) => sourceOf(part, part < 26 ? [1, 2] : [2]));
  const file = build(parts);
  expect(await find(file, 1)).toBeUndefined();
  expect(await find(file, 2)).toBeUndefined();
  const more = Array.from({ length: 40 }, (_, i) => sourceOf(100 + i, i === 7 ? [1, 3] : []));
  const merged = build([new IndexKeys(file), ...more]);
  expect(await find(merged, 1)).toBeUndefined();
  expect(await find(merged, 3)).toEqual([107]);
  const few = build([sourceOf(0, [5]), new IndexKeys(build([sourceOf(1, [5]), sourceOf(2, [])]))]);
  expect(await find(few, 5)).toEqual([0, 1]);
});

test('limit: entries that do not fit into their page are found', async () => {
  // All hashes are on the first of many pages.
  const crowded = Array.from({ length: 3_000 }, (_, i) => i * 3);
  const spread = Array.from({ length: 20_000 }, (_, i) => Math.floor((i / 20_000) * hashCount) + 9);
  const keys = [...new Set([...crowded, ...spread])].sort((a, b) => a - b);
  const file = build([sourceOf(0, keys)]);
  const { pageCount, listBytes } = decodeHeader(file.bytes);
  expect([pageCount > 10, listBytes > 0]).toEqual([true, true]);
  for (const key of [0, 3, 3_000, 8_997, ...spread.slice(0, 50)])
    expect(await find(file, key)).toEqual([0]);
  for (const key of [1, 8_998, hashCount - 1]) expect(await find(file, key)).toEqual([]);
  const again = build([new IndexKeys(file), sourceOf(1, [3])]);
  expect([await find(again, 3), await find(again, 8_997)]).toEqual([[0, 1], [0]]);
});

test('property: pages cover all hashes in order, and begin at or below their first hash', () => {
  fc.assert(
    fc.property(hash, fc.integer({ min: 1, max: 2 ** 31 }), (key, pageCount) => {
      const page = pageOf(key, pageCount);
      expect(page >= 0 && page < pageCount).toBe(true);
      expect(pageStart(page, pageCount)).toBeLessThanOrEqual(key);
      if (key > 0) expect(pageOf(key - 1, pageCount)).toBeLessThanOrEqual(page);
    }),
  );
});

test('default: every address, signature and discriminator of a segment is a key of it', () => {
  const blocks = simulatedBlocks({
    content: { transactionsPerBlock: 20, votes: 0 },
    firstSlot: 100,
    blockCount: 4,
  });
  // A file is read into memory that other reads share.
  const segment = buildSegment(blocks);
  const shared = Buffer.concat([Buffer.alloc(4), segment]).subarray(4);
  const keys = new Set(collectKeys(openSegment(shared)));
  const bytesOf = (text: string) => decodeBase58(text) as Uint8Array;
  let instructionCount = 0;
  for (const { transactions, instructions, rewards } of blocks) {
    for (const { signatures } of transactions)
      for (const signature of signatures)
        expect(keys).toContain(hashSignatureKey(bytesOf(signature)));
    for (const { programId, accounts, data } of instructions) {
      instructionCount++;
      const program = bytesOf(programId);
      for (const address of [programId, ...accounts])
        expect(keys).toContain(hashAddress(bytesOf(address)));
      const prefix = bytesOf(data).subarray(0, 8);
      const isKnown = [0, 1, 2, 3, 4, 5, 6, 7, 8].some((length) =>
        keys.has(hashPrefix('class', program, prefix.subarray(0, length))),
      );
      expect(isKnown).toBe(true);
    }
    for (const { pubKey } of rewards) expect(keys).toContain(hashAddress(bytesOf(pubKey)));
  }
  expect(instructionCount).toBeGreaterThan(50);
});

test('behavior: keys of different kinds have different hashes, which use all bits', () => {
  const address = new Uint8Array(32).fill(3);
  const prefixes = [0, 1, 8].map((length) => new Uint8Array(length));
  const hashes = [
    hashAddress(address),
    hashSignatureKey(new Uint8Array(64).fill(3)),
    ...prefixes.map((prefix) => hashPrefix('prefix', address, prefix)),
    ...prefixes.map((prefix) => hashPrefix('class', address, prefix)),
  ];
  expect(new Set(hashes).size).toBe(8);
  const many = Array.from({ length: 20_000 }, (_, i) => {
    const key = new Uint8Array(32);
    new DataView(key.buffer).setUint32(28, i);
    return hashAddress(key);
  });
  expect(new Set(many).size).toBe(20_000);
  const filled = new Set(many.map((value) => pageOf(value, 100)));
  expect(filled.size).toBe(100);
  expect(new Set(many.map((value) => value % 1_000)).size).toBe(1_000);
});

test('error: segment-damaged: a changed byte is detected where it is read', async () => {
  const file = build([sourceOf(0, [1, 2, 3]), sourceOf(1, [2, 9])]);
  const shape = decodeHeader(file.bytes);
  const damaged = { code: 'segment-damaged' };
  const flip = (at: number) => {
    file.bytes[at] = (file.bytes[at] as number) ^ 1;
  };
  flip(headerBytes + 100);
  await expect(findParts(2, shape, file.readAt)).rejects.toMatchObject(damaged);
  expect(() => {
    const keys = new IndexKeys(file);
    while (keys.next());
  }).toThrow(expect.objectContaining(damaged));
  flip(headerBytes + 100);
  flip(file.bytes.length - 6);
  await expect(readParts(shape, file.readAt)).rejects.toMatchObject(damaged);
  flip(file.bytes.length - 6);
  flip(9);
  expect(() => decodeHeader(file.bytes)).toThrow(expect.objectContaining(damaged));
});

test('property: of large indexes, a set of keys has the parts that its keys have one by one', async () => {
  const bytes = new Uint8Array(20_000 * 32).map((_, i) => Math.imul(i, 0x9e37_79b1) >>> 24);
  new Uint32Array(bytes.buffer).forEach((word, i, words) => {
    words[i] = word ^ Math.imul(i, 0x85eb_ca6b);
  });
  const hashes = runToCompletion(sortHashesSteps({ bytes }));
  const each = Array.from({ length: 20_000 }, (_, i) =>
    hashAddress(bytes.subarray(i * 32, i * 32 + 32)),
  );
  expect(hashes).toEqual(Float64Array.from(each).sort());
  const parts = Array.from({ length: 9 }, (_, part) =>
    sourceOf(part, [...new Set(hashes.filter((_hash, i) => i % 10 === part))]),
  );
  const file = build(parts);
  const shape = decodeHeader(file.bytes);
  expect(shape.pageCount).toBeGreaterThan(20);
  const reads: number[] = [];
  const readAt = async (position: number, length: number) => {
    reads.push(length);
    return file.read(position, length);
  };
  for (const step of [1, 7, 10, 5_000, 19_999]) {
    const wanted = hashes.filter((_, i) => i % step === 0);
    const single = await Promise.all([...wanted].map((key) => find(file, key)));
    const expected = [...new Set(single.flatMap((numbers) => numbers ?? []))].sort();
    expect(await findAnyParts(wanted, shape, readAt)).toEqual(expected);
  }
  // Nearly all pages are needed, so they are read in large reads.
  expect(reads.length).toBeLessThan(60);
  expect(
    await findAnyParts(
      hashes.filter((_, i) => i % 10 === 9),
      shape,
      readAt,
    ),
  ).toEqual([]);
});

test('behavior: a set with a key that counts as being in all parts is in all parts', async () => {
  const file = build(Array.from({ length: 100 }, (_, part) => sourceOf(part, [2, 100 + part])));
  const shape = decodeHeader(file.bytes);
  expect(await findAnyParts(Float64Array.of(2, 150), shape, file.readAt)).toBeUndefined();
  expect(await findAnyParts(Float64Array.of(150, 160), shape, file.readAt)).toEqual([50, 60]);
});

test('behavior: the search of a set ends when all parts are found', async () => {
  const hashes = Float64Array.from({ length: 60_000 }, (_, i) => i * 4_000_000_000);
  const file = build(
    [0, 1].map((part) => sourceOf(part, [...hashes.filter((_, i) => i % 2 === part)])),
  );
  const shape = decodeHeader(file.bytes);
  let bytes = 0;
  const readAt = async (position: number, length: number) => {
    bytes += length;
    return file.read(position, length);
  };
  expect(await findAnyParts(hashes, shape, readAt)).toEqual([0, 1]);
  expect(bytes).toBeLessThan(file.bytes.length / 2);
});
