/**
 * Same input, same bytes, on every runtime and processor. A change here is a new version of the format, unless it is the
 * simulator's content that changed: then the first test still holds.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../simulator/testing/simulated-blocks.ts';
import { buildSegment } from './build-segment.ts';
import { sampleBlock } from './testing/sample-block.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('behavior: the bytes of a segment of written-out blocks', () => {
  const blocks = Array.from({ length: 600 }, (_, slot) => sampleBlock(slot));
  expect(sha256(buildSegment(blocks))).toBe(
    '24555b39e9ad5b5e249ac06bbe16fd0938f8ef2ab118aee7fd80c262034c83c1',
  );
});

test('behavior: the bytes of a segment of simulated blocks', () => {
  const content = { seed: 1, profile: '2025', transactionsPerBlock: 20 } as const;
  const blocks = simulatedBlocks({ content, firstSlot: 1_000, blockCount: 10 });
  expect(sha256(buildSegment(blocks))).toBe(
    '7c9b50b278e118160966b0774ae70d6424f6d3797736091c399f3f253e9ec92e',
  );
});
