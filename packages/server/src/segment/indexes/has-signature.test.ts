import { decodeBase58 } from '@sluice/base/base58';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { openSegment } from '../read/open-segment.ts';
import { buildSegment } from '../write/build-segment.ts';
import { hasSignature } from './probe-signature.ts';
import { SegmentIndex } from './segment-index.ts';

const content = { transactionsPerBlock: 60, votes: 0 };
const blocks = simulatedBlocks({ content, firstSlot: 100, blockCount: 120 });
const segment = openSegment(buildSegment(blocks));
const signatures = blocks
  .flatMap(({ transactions }) => transactions.flatMap((one) => one.signatures))
  .map((text) => decodeBase58(text) as Uint8Array);

test('default: every signature of the segment is found, in all row groups', () => {
  expect(segment.groups.length).toBeGreaterThan(1);
  expect(signatures.filter((signature) => !hasSignature(segment, signature))).toEqual([]);
});

test('behavior: a signature that matches in the index but is not stored is not found', () => {
  const index = new SegmentIndex(segment);
  const others = signatures
    .map((signature, i) => signature.with(i % 64, (signature[i % 64] as number) ^ 1))
    .filter((signature) => index.findSignature(signature).length > 0);
  expect(others.length).toBeGreaterThan(10);
  expect(others.filter((signature) => hasSignature(segment, signature))).toEqual([]);
});
