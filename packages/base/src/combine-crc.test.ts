import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { combineCrc } from './combine-crc.ts';

test('property: two checksums combine to the checksum of the concatenated bytes', () => {
  const bytes = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      const combined = combineCrc(crc32(first), crc32(second), second.length);
      expect(combined).toBe(crc32(Buffer.concat([first, second])));
    }),
  );
});

test('limit: lengths beyond 2^32 bytes combine', () => {
  // Appending zeros in two steps must give the same checksum as appending them in one.
  const zeros = (count: number, sum: number) => combineCrc(sum, 0, count);
  const half = zeros(2 ** 33, crc32('x'));
  expect(zeros(2 ** 33, half)).toBe(zeros(2 ** 34, crc32('x')));
});
