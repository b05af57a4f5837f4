import { assert } from '@sluice/base/assert';
import type { Block } from '@sluice/ledger/block';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { hasRealData, readRealBlocks } from '../../../../source/src/testing/real-data.ts';
import { PART } from '../layout/directory.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import { openSegment } from '../read/open-segment.ts';
import { sampleBlock } from '../testing/sample-block.ts';
import { buildBlock, buildSegment } from './build-segment.ts';
import { mergeSegments, mergeUnderHeader, type RowSegment } from './merge-segments.ts';

/** Builds segments from the blocks, divided at the given positions, and merges them. */
function mergeCut(blocks: readonly Block[], cuts: readonly number[]): Uint8Array {
  const bounds = [0, ...cuts, blocks.length];
  const parts = bounds.slice(1).map((end, i) => blocks.slice(bounds[i], end));
  return mergeSegments(parts.map((part) => openSegment(buildSegment(part))));
}

function expectSame(merged: Uint8Array, built: Uint8Array): void {
  expect(Buffer.compare(merged, built)).toBe(0);
}

test('default: merging gives the same bytes as building from all blocks', () => {
  const blocks = [5, 6, 9, 10, 11, 300].map(sampleBlock);
  expectSame(mergeCut(blocks, [1, 2, 5]), buildSegment(blocks));
});

test('behavior: a block is merged with a new header', () => {
  const [block] = simulatedBlocks({ content: { transactionsPerBlock: 3 }, blockCount: 1 });
  assert(block !== undefined, 'one block was made');
  const header = { ...block.header, height: 12_345, parentHash: null };
  const merged = mergeUnderHeader(openSegment(buildBlock(block, undefined)), header);
  expectSame(merged, buildSegment([{ ...block, header }]));
});

test('behavior: no segments, and segments without blocks, can be merged', () => {
  const blocks = [5, 6].map(sampleBlock);
  expectSame(mergeSegments([]), buildSegment([]));
  expectSame(mergeCut(blocks, [0, 0, 1, 1]), buildSegment(blocks));
});

test('behavior: columns that the rows of an older format lack are 0 in the result', () => {
  const blocks = [5, 6].map(sampleBlock);
  const segment = openSegment(buildSegment(blocks));
  const older: RowSegment = {
    headers: segment.headers,
    groups: segment.groups,
    addressCount: segment.addressCount,
    countsAt: (block) => segment.countsAt(block),
    readKeys: (first, count) => segment.readKeys(first, count),
    readGroup: (number) => {
      const { txFee: _, txFeeNull: __, ...rows } = segment.readGroup(number);
      return rows as GroupRows;
    },
  };
  const withoutFee = ({ transactions, ...block }: Block): Block => ({
    ...block,
    transactions: transactions.map((transaction) => ({ ...transaction, fee: 0n })),
  });
  expectSame(mergeSegments([older]), buildSegment(blocks.map(withoutFee)));
});

test('behavior: the row groups of the parts may differ from those of the result', () => {
  const blocks = Array.from({ length: 1_400 }, (_, slot) => sampleBlock(slot));
  const merged = mergeCut(blocks, [100, 700, 1_300]);
  expect(openSegment(merged).directory.groups.length).toBe(3);
  expectSame(merged, buildSegment(blocks));
});

test('behavior: segments with several row groups, section dictionaries and pages of postings are merged', () => {
  const content = { profile: '2025', transactionsPerBlock: 180 } as const;
  const blocks = simulatedBlocks({ content, blockCount: 14 });
  const merged = mergeCut(
    blocks,
    Array.from({ length: 8 }, (_, i) => i + 1),
  );
  const segment = openSegment(merged);
  expect(segment.directory.groups.length).toBeGreaterThan(1);
  expect(segment.partCount(PART.sectionDictionary)).toBeGreaterThan(1);
  expect(segment.partCount(PART.postings)).toBeGreaterThan(1);
  expectSame(merged, buildSegment(blocks));
});

const realFile = 'blocks-various.jsonl.gz';
test.skipIf(!hasRealData(realFile))(
  'behavior: real blocks of all ages are merged (needs real data)',
  () => {
    const blocks = readRealBlocks(realFile)
      .map(
        ({ slot, bytes }) =>
          normalizeBlock(slot, bytes, { metaOptional: true, allowMissing: ['rewards', 'logs'] })
            .block,
      )
      .sort((a, b) => a.header.number - b.header.number);
    expectSame(mergeCut(blocks, [1, 2, 3, 4, 5]), buildSegment(blocks));
  },
);
