import { decodeBase58 } from '@sluice/base/base58';
import { expect, test } from 'vitest';
import { PlaneInts } from '../encoding/plane-ints.ts';
import { sampleBlock } from '../testing/sample-block.ts';
import { buildSegment } from '../write/build-segment.ts';
import { BlockHeaders } from './block-table.ts';
import { openSegment } from './open-segment.ts';

test('error: segment-damaged: a count of blocks that the table does not have is refused', () => {
  const columns = {
    blockCount: 2 ** 31,
    readBlockInts: () => new PlaneInts(Uint8Array.of(1), 1, 1, false),
    blockBytesOf: () => 32,
    readBlockBytes: () => new Uint8Array(32),
  };
  expect(() => new BlockHeaders(columns)).toThrow(
    expect.objectContaining({ code: 'segment-damaged' }),
  );
});

test('error: segment-damaged: a column of hashes that lacks one is refused when the table is read', () => {
  const columns = {
    blockCount: 2,
    readBlockInts: () => new PlaneInts(Uint8Array.of(1), 2, 1, true),
    blockBytesOf: () => 32,
    readBlockBytes: () => new Uint8Array(32),
  };
  expect(() => new BlockHeaders(columns)).toThrow(
    expect.objectContaining({ code: 'segment-damaged' }),
  );
});

test('behavior: a segment reports the memory of its block table when it is read, and of the texts of hashes when they are made', () => {
  const blockCount = 1_000;
  const blocks = Array.from({ length: blockCount }, (_, slot) => sampleBlock(slot));
  const segment = openSegment(buildSegment(blocks));
  expect(segment.blockTableBytes).toBe(0);
  const { headers } = segment;
  const read = segment.blockTableBytes;
  // A slot has 8 bytes. The other columns are small numbers, and hashes, which have 32, are not kept.
  expect(read).toBeGreaterThan(blockCount * 8);
  expect(read).toBeLessThan(blockCount * 32);
  headers.hashAt(0);
  const withTexts = segment.blockTableBytes;
  expect(withTexts).toBeGreaterThan(read);
  headers.hashAt(1);
  expect(segment.blockTableBytes).toBe(withTexts);
  expect(withTexts - read).toBeLessThan(blockCount * 10);
  for (let block = 0; block < blockCount; block++) headers.hashAt(block);
  // A text has at most 44 characters and its length.
  expect(segment.blockTableBytes - read).toBeGreaterThan(blockCount * 44);
});

test('behavior: hashes are the same in any order of requests, also after other parts of the segment were read', () => {
  const blocks = Array.from({ length: 700 }, (_, slot) => sampleBlock(slot));
  const bytes = buildSegment(blocks);
  const [forwards, backwards] = [openSegment(bytes), openSegment(bytes)];
  const hashesOf = (numbers: readonly number[], { headers }: typeof forwards) =>
    new Map(numbers.map((number) => [number, headers.hashAt(number)]));
  const numbers = blocks.map((_, number) => number);
  const expected = new Map(blocks.map(({ header }, number) => [number, header.hash]));
  expect(hashesOf(numbers, forwards)).toEqual(expected);
  backwards.readGroup(0);
  expect(hashesOf(numbers.reverse(), backwards)).toEqual(expected);
});

test('error: segment-damaged: a flipped bit of a hash is found when the hash is read', () => {
  const bytes = buildSegment([sampleBlock(5)]);
  const hash = decodeBase58(sampleBlock(5).header.hash) ?? new Uint8Array(32);
  const at = Buffer.from(bytes).indexOf(hash);
  expect(at).toBeGreaterThan(0);
  bytes[at] = (bytes[at] as number) ^ 1;
  expect(() => openSegment(bytes).headers.hashAt(0)).toThrow(
    expect.objectContaining({ code: 'segment-damaged' }),
  );
});
