/**
 * Properties of segments of random blocks. They are in this folder because the generator of random blocks is part of the engine's tests.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openSegment } from '../segment/read/open-segment.ts';
import { decodeBlocks } from '../segment/testing/decode-blocks.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { mergeSegments } from '../segment/write/merge-segments.ts';
import { arbitraryBlocks } from './testing/arbitrary-block.ts';

test('property: decoding a segment returns the blocks that it was built from', () => {
  fc.assert(
    fc.property(arbitraryBlocks({ maxLength: 6 }), (blocks) => {
      expect(decodeBlocks(openSegment(buildSegment(blocks)))).toEqual(blocks);
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

test('property: merging segments gives the same bytes as building one segment from all blocks', () => {
  fc.assert(
    fc.property(
      arbitraryBlocks({ maxLength: 6 }),
      fc.array(fc.nat({ max: 6 }), { maxLength: 4 }),
      (blocks, cuts) => {
        const bounds = [0, ...[...cuts].sort((a, b) => a - b), blocks.length];
        const parts = bounds.slice(1).map((end, i) => blocks.slice(bounds[i], end));
        const segments = parts.map((part) => openSegment(buildSegment(part)));
        expect(Buffer.compare(mergeSegments(segments), buildSegment(blocks))).toBe(0);
      },
    ),
    { numRuns: 100, endOnFailure: true },
  );
});
