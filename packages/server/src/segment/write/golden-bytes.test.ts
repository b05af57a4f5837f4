/**
 * The same input gives the same bytes on every runtime and processor. A change of these hashes is a new version of the format, unless only
 * the simulator's content changed: then the first test still passes.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { sampleBlock } from '../testing/sample-block.ts';
import { buildSegment } from './build-segment.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('behavior: a segment of hand-written blocks has the expected bytes', () => {
  const blocks = Array.from({ length: 600 }, (_, slot) => sampleBlock(slot));
  expect(sha256(buildSegment(blocks))).toBe(
    '40bdbeddbde437fa0fb1a6c4115e54fe0ddc93d2af6b8bba8429ecd41aec498d',
  );
});

test('behavior: a segment of simulated blocks has the expected bytes', () => {
  const content = { seed: 1, profile: '2025', transactionsPerBlock: 20 } as const;
  const blocks = simulatedBlocks({ content, firstSlot: 1_000, blockCount: 10 });
  expect(sha256(buildSegment(blocks))).toBe(
    '1166e4349572ee171cb6f8616a9ba006326c3c45f9df8e5f594b40b06fc0ff34',
  );
});
