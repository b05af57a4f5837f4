import { expect, test } from 'vitest';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import { SEGMENT_LIMITS } from '../../segment/layout/limits.ts';
import { isMergeUrgent } from './choose-merge.ts';

const limits = { mergeBytes: 100, mergeCount: 4 };
const segment = (byteLength: number, blockCount = 1) =>
  ({ byteLength, blockCount }) as SealedSegment;
const some = (count: number, ...shape: Parameters<typeof segment>) =>
  Array.from({ length: count }, () => segment(...shape));

test('limit: a merge is urgent if more than four are due, and merged segments do not count', () => {
  expect(isMergeUrgent({ front: [], segments: some(10, 40) }, limits)).toBe(false);
  expect(isMergeUrgent({ front: some(5, 40), segments: some(6, 40) }, limits)).toBe(true);
  expect(isMergeUrgent({ front: some(5, 90), segments: some(10, 40) }, limits)).toBe(false);
});

test('limit: segments of many small blocks are due by their number of blocks', () => {
  const blockCount = SEGMENT_LIMITS.blockCountMax / 4;
  expect(isMergeUrgent({ front: [], segments: some(16, 1, blockCount) }, limits)).toBe(false);
  expect(isMergeUrgent({ front: [], segments: some(17, 1, blockCount) }, limits)).toBe(true);
});
