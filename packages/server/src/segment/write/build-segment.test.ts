import { crc32 } from 'node:zlib';
import { isCodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { openSegment, verifySegment } from '../read/open-segment.ts';
import { decodeBlocks } from '../testing/decode-blocks.ts';
import { sampleBlock } from '../testing/sample-block.ts';
import { buildSegment } from './build-segment.ts';
import { splitSegment } from './merge-segments.ts';

const slots = [5, 6, 9, 10, 11, 300];

test('default: a segment decodes to the same blocks, with every digit and text', () => {
  const blocks = slots.map(sampleBlock);
  expect(decodeBlocks(openSegment(buildSegment(blocks)))).toEqual(blocks);
});

test('behavior: an empty block, and no block at all, can be stored as a segment', () => {
  const empty = {
    ...sampleBlock(7),
    transactions: [],
    instructions: [],
    logs: [],
    balances: [],
    tokenBalances: [],
    rewards: [],
  };
  expect(decodeBlocks(openSegment(buildSegment([empty])))).toEqual([empty]);
  expect(decodeBlocks(openSegment(buildSegment([])))).toEqual([]);
});

test('behavior: many small blocks fill several row groups and are returned in order', () => {
  const blocks = Array.from({ length: 1_500 }, (_, slot) => sampleBlock(slot));
  const segment = openSegment(buildSegment(blocks));
  expect(segment.directory.groups.length).toBeGreaterThan(1);
  expect(decodeBlocks(segment)).toEqual(blocks);
});

test('behavior: a segment is split into segments of single blocks, which have the bytes of these blocks', () => {
  const blocks = Array.from({ length: 1_500 }, (_, slot) => sampleBlock(slot));
  const wanted = [0, 1, 700, 1_499];
  const parts = [
    ...splitSegment(openSegment(buildSegment(blocks)), (slot) => wanted.includes(slot)),
  ];
  expect(parts.map((part) => crc32(part))).toEqual(
    wanted.map((slot) => crc32(buildSegment([sampleBlock(slot)]))),
  );
});

test('behavior: a flipped bit anywhere is detected', () => {
  const bytes = buildSegment(slots.map(sampleBlock));
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] as number) ^ (1 << (at % 8));
    expect(readWhole(damaged), `byte ${at}`).toMatch(/^segment-/);
  }
});

test('error: segment-damaged if the segment is truncated anywhere', () => {
  const bytes = buildSegment(slots.map(sampleBlock));
  for (let length = 0; length < bytes.length; length += 17) {
    expect(readWhole(bytes.slice(0, length)), `length ${length}`).toMatch(/^segment-/);
  }
});

test('error: segment-version-unknown names the version', () => {
  const bytes = buildSegment([sampleBlock(5)]);
  const other = bytes.slice();
  const view = new DataView(other.buffer);
  view.setUint32(8, 9, true);
  view.setUint32(12, crc32(other.subarray(0, 12)), true);
  expect(readWhole(other)).toBe('segment-version-unknown');
});

/** Reads every part. Returns the code of the error, or a text if there was none. */
function readWhole(bytes: Uint8Array): string {
  try {
    const segment = openSegment(bytes);
    decodeBlocks(segment);
    return verifySegment(segment)[0]?.code ?? 'no error';
  } catch (error) {
    return isCodedError(error) ? error.code : String(error);
  }
}
