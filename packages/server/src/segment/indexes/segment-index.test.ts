import { expect, test } from 'vitest';
import type { Segment } from '../read/open-segment.ts';
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
  const index = new SegmentIndex({ readUnit } as unknown as Segment);
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
