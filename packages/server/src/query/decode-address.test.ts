import { base58 } from '@scure/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeAddress } from './decode-address.ts';

const bytesOf = (minLength: number, maxLength: number) =>
  fc
    .tuple(fc.integer({ min: 0, max: 40 }), fc.uint8Array({ minLength, maxLength }))
    .map(([zeroCount, bytes]) => bytes.fill(0, 0, Math.min(zeroCount, bytes.length)));

test('property: 32 bytes come back from their base58 text, leading zeros too', () => {
  fc.assert(
    fc.property(bytesOf(32, 32), (bytes) => {
      expect(decodeAddress(base58.encode(bytes))).toEqual(bytes);
    }),
  );
});

test('property: any other number of bytes is no address', () => {
  fc.assert(
    fc.property(bytesOf(0, 40), (bytes) => {
      fc.pre(bytes.length !== 32);
      expect(decodeAddress(base58.encode(bytes))).toBeUndefined();
    }),
  );
});

test('behavior: the bounds of the range', () => {
  expect(decodeAddress('1'.repeat(32))).toEqual(new Uint8Array(32));
  const highest = new Uint8Array(32).fill(255);
  expect(decodeAddress(base58.encode(highest))).toEqual(highest);
});
