import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { SegmentBuffer } from './built-segment.ts';

const blocks = simulatedBlocks({
  content: { transactionsPerBlock: 2, votes: 0 },
  firstSlot: 100,
  blockCount: 3,
});
const bytes = buildSegment(blocks);

test('default: chunks of any length give the same bytes, checksum and hashes', () => {
  for (const chunkBytes of [1, 7, 64, 65, 1_000, bytes.length]) {
    const buffer = new SegmentBuffer({ partBytes: 64 });
    for (let at = 0; at < bytes.length; at += chunkBytes)
      buffer.append(bytes.subarray(at, at + chunkBytes));
    const { parts, byteLength, checksum, hashes } = buffer.finish();
    expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
    expect(new Set(parts.slice(0, -1).map(({ length }) => length))).toEqual(new Set([64]));
    expect([byteLength, checksum]).toEqual([bytes.length, crc32(bytes)]);
    expect(hashes).toEqual(blocks.map(({ header }) => header.hash));
  }
});

test('behavior: a content that fills its parts is not cut', () => {
  const buffer = new SegmentBuffer({ partBytes: bytes.length });
  buffer.append(bytes);
  const { parts, signatures } = buffer.finish();
  expect(parts.map(({ length }) => length)).toEqual([bytes.length]);
  expect(signatures).toEqual(expect.any(Object));
  const large = new SegmentBuffer();
  large.append(bytes);
  expect(large.finish().parts).toEqual([bytes]);
});

test('limit: a read ends at the end of the segment', () => {
  const buffer = new SegmentBuffer({ partBytes: 10 });
  buffer.append(Uint8Array.from({ length: 25 }, (_, i) => i));
  expect([...buffer.read(8, 4)]).toEqual([8, 9, 10, 11]);
  expect([...buffer.read(22, 10)]).toEqual([22, 23, 24]);
  expect(buffer.read(30, 10).length).toBe(0);
  const target = new Uint8Array(4);
  expect([buffer.readInto(18, target), ...target]).toEqual([4, 18, 19, 20, 21]);
  expect(buffer.readInto(23, target)).toBe(2);
  expect(buffer.readInto(40, target)).toBe(0);
  expect(buffer.length).toBe(25);
});
