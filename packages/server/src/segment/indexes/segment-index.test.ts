import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { openSegment, type Segment } from '../read/open-segment.ts';
import { buildSegment } from '../write/build-segment.ts';
import { PostingsBuilder } from './postings.ts';
import { SegmentIndex } from './segment-index.ts';

/** Every transaction uses address 0. Every thousandth transaction also uses address 1. */
const [busy, rare] = [0, 1];

function indexOf(transactionCount: number) {
  const builder = new PostingsBuilder();
  for (let transaction = 0; transaction < transactionCount; transaction++)
    builder.add(transaction, Uint32Array.from(transaction % 1_000 === 0 ? [busy, rare] : [busy]));
  const [page = new Uint8Array()] = builder.build(2).pages;
  let readCount = 0;
  const readUnit = () => {
    readCount++;
    return page.slice();
  };
  const index = new SegmentIndex({ readUnit, addressCount: 2 } as unknown as Segment);
  return { index, pageBytes: page.length, reads: () => readCount };
}

const thousands = (end: number) =>
  Uint32Array.from({ length: Math.ceil(end / 1_000) }, (_, i) => i * 1_000);

test('behavior: a long page is freed, the lists decoded from it stay, and it is read again for another list', () => {
  const { index, pageBytes, reads } = indexOf(70_000);
  expect(pageBytes).toBeGreaterThan(1 << 16);
  expect(index.transactions(rare)).toEqual(thousands(70_000));
  expect(index.byteLength).toBeGreaterThan(pageBytes);
  index.releaseLongPages();
  expect(index.byteLength).toBeLessThan(1_000);
  expect(index.transactions(rare)).toEqual(thousands(70_000));
  expect(reads()).toBe(1);
  expect(index.transactions(busy).length).toBe(70_000);
  expect(reads()).toBe(2);
});

test('behavior: a short page stays', () => {
  const { index, pageBytes, reads } = indexOf(60_000);
  expect(pageBytes).toBeLessThanOrEqual(1 << 16);
  expect(index.transactions(rare)).toEqual(thousands(60_000));
  index.releaseLongPages();
  expect(index.transactions(busy).length).toBe(60_000);
  expect(reads()).toBe(1);
});

/** A set that is searched key by key, and counts the calls. */
function keySetOf(version: string, keys: readonly Uint8Array[]) {
  const texts = new Set(keys.map((key) => Buffer.from(key).toString('hex')));
  const calls = { key: 0, has: 0 };
  return {
    version,
    count: keys.length,
    calls,
    key: (position: number) => {
      calls.key++;
      return keys[position] as Uint8Array;
    },
    has: (bytes: Uint8Array, at: number) => {
      calls.has++;
      return texts.has(Buffer.from(bytes.subarray(at, at + 32)).toString('hex'));
    },
  };
}

test('behavior: the keys of a small set are looked up, a large set is compared with the dictionary, and both find the same ids', () => {
  const blocks = simulatedBlocks({
    content: { transactionsPerBlock: 20, votes: 0 },
    blockCount: 20,
  });
  const segment = openSegment(buildSegment(blocks));
  const index = new SegmentIndex(segment);
  const { addressCount } = segment;
  expect(addressCount).toBeGreaterThan(300);
  const absent = (i: number) => new Uint8Array(32).fill(i + 1);
  const small = keySetOf('small', [
    absent(0),
    segment.readKeys(addressCount - 1, 1).slice(),
    segment.readKeys(7, 1).slice(),
  ]);
  expect(index.findSet(small)).toEqual(Uint32Array.of(7, addressCount - 1));
  expect(small.calls).toEqual({ key: 3, has: 0 });
  const large = keySetOf('large', [
    ...Array.from({ length: 200 }, (_, i) => absent(i)),
    ...[7, 0, addressCount - 1].map((id) => segment.readKeys(id, 1).slice()),
  ]);
  expect(index.findSet(large)).toEqual(Uint32Array.of(0, 7, addressCount - 1));
  expect(large.calls).toEqual({ key: 0, has: addressCount });
  index.findSet(large);
  expect(large.calls.has).toBe(addressCount);
});
