import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { buildSegment } from '../segment/build-segment.ts';
import { simulatedBlocks } from '../simulator/testing/simulated-blocks.ts';
import { SegmentParts } from './made-segment.ts';

const blocks = simulatedBlocks({
  content: { transactionsPerBlock: 2, votes: 0 },
  firstSlot: 100,
  blockCount: 3,
});
const bytes = buildSegment(blocks);

test('default: pieces of any length are the same bytes in parts, with what is known of them', () => {
  for (const pieceBytes of [1, 7, 64, 65, 1_000, bytes.length]) {
    const made = new SegmentParts({ partBytes: 64 });
    for (let at = 0; at < bytes.length; at += pieceBytes)
      made.append(bytes.subarray(at, at + pieceBytes));
    const { parts, byteLength, checksum, hashes } = made.finish();
    expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
    expect(new Set(parts.slice(0, -1).map(({ length }) => length))).toEqual(new Set([64]));
    expect([byteLength, checksum]).toEqual([bytes.length, crc32(bytes)]);
    expect(hashes).toEqual(blocks.map(({ header }) => header.hash));
  }
});

test('limit: what is read ends where the segment does', () => {
  const made = new SegmentParts({ partBytes: 10 });
  made.append(Uint8Array.from({ length: 25 }, (_, i) => i));
  expect([...made.read(8, 4)]).toEqual([8, 9, 10, 11]);
  expect([...made.read(22, 10)]).toEqual([22, 23, 24]);
  expect(made.read(30, 10).length).toBe(0);
});
