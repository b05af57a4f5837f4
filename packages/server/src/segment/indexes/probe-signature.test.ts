import { decodeBase58 } from '@sluice/base/base58';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { openSegment } from '../read/open-segment.ts';
import { buildSegment } from '../write/build-segment.ts';
import { probeSignature } from './probe-signature.ts';
import { hashSignature } from './segment-index.ts';
import { locateSignatureIndex, type SignatureIndexRange } from './signature-index-range.ts';

const content = { transactionsPerBlock: 40, votes: 0 };
const blocks = simulatedBlocks({ content, firstSlot: 100, blockCount: 8 });
const bytes = buildSegment(blocks);
const place = locateSignatureIndex(openSegment(bytes)) as SignatureIndexRange;
const hashes = blocks
  .flatMap(({ transactions }) => transactions.flatMap(({ signatures }) => signatures))
  .map((signature) => hashSignature(decodeBase58(signature) as Uint8Array));

/** Runs a probe on a segment in memory. Returns its result and how many bytes it read. */
function probe(hash: number, segment = bytes, at = place): { canHave: boolean; byteCount: number } {
  const steps = probeSignature(hash, at);
  let byteCount = 0;
  for (let step = steps.next(); ; ) {
    if (step.done === true) return { canHave: step.value, byteCount };
    const parts = step.value.map(({ start, end }) => segment.subarray(start, end));
    byteCount += parts.reduce((sum, { length }) => sum + length, 0);
    step = steps.next(parts);
  }
}

test('default: no signature of the segment is excluded', () => {
  expect(hashes.length).toBeGreaterThan(300);
  expect(hashes.filter((hash) => !probe(hash).canHave)).toEqual([]);
});

test('limit: a probe reads at most four chunks, and excludes nearly every other signature', () => {
  const others = Array.from({ length: 4_000 }, (_, i) => Math.imul(i + 1, 0x9e37_79b1) >>> 0);
  const results = others.filter((hash) => !hashes.includes(hash)).map((hash) => probe(hash));
  expect(Math.max(...results.map(({ byteCount }) => byteCount))).toBeLessThanOrEqual(4 * 2_052);
  const passed = results.filter(({ canHave }) => canHave).length / results.length;
  expect(passed).toBeGreaterThan(0);
  expect(passed).toBeLessThan(0.05);
});

test('behavior: damaged bytes exclude nothing, wherever they are', () => {
  const [hash = 0] = Array.from({ length: 4_000 }, (_, i) => i * 1_000_003).filter(
    (one) => !probe(one).canHave,
  );
  for (const at of [place.offset, place.offset + place.blockBytes, place.checksums]) {
    const damaged = bytes.slice().fill(0x5a, at, at + place.blockBytes + 600);
    expect(probe(hash, damaged).canHave).toBe(true);
    expect(probe(hash, bytes.subarray(0, at)).canHave).toBe(true);
  }
});

test('behavior: a segment without transactions has no signature', () => {
  const empty = buildSegment([
    {
      ...(blocks[0] as (typeof blocks)[number]),
      transactions: [],
      instructions: [],
      logs: [],
      balances: [],
      tokenBalances: [],
    },
  ]);
  const own = locateSignatureIndex(openSegment(empty)) as SignatureIndexRange;
  expect(probe(hashes[0] as number, empty, own).canHave).toBe(false);
});
