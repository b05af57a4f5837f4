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
  // A hash has 32 bytes and a slot has 8. The other columns are small numbers.
  expect(read).toBeGreaterThan(blockCount * 40);
  expect(read).toBeLessThan(blockCount * 80);
  headers.hashAt(0);
  const withTexts = segment.blockTableBytes;
  expect(withTexts).toBeGreaterThan(read);
  headers.hashAt(1);
  expect(segment.blockTableBytes).toBe(withTexts);
  for (let block = 0; block < blockCount; block++) headers.hashAt(block);
  // A text has at most 44 characters and its length.
  expect(segment.blockTableBytes - read).toBeGreaterThan(blockCount * 44);
});
