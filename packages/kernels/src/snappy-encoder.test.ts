import { Random } from '@sluice/base/random';
import { snappyUncompress } from 'hyparquet';
import { expect, test } from 'vitest';
import { SnappyEncoder } from './snappy-encoder.ts';

const encoder = new SnappyEncoder();
const random = Random.fromSeed(1);
const blockBytes = 65_536;

/** Decodes with the independent decoder. */
function expectSame(bytes: Uint8Array): Uint8Array {
  const packed = encoder.encode(bytes).slice();
  let lengthBytes = 1;
  while ((packed[lengthBytes - 1] ?? 0) >= 128) lengthBytes++;
  const plain = new Uint8Array(bytes.length);
  if (bytes.length > 0) snappyUncompress(packed, plain);
  // Buffers are compared directly, because a matcher would print every byte.
  expect(Buffer.from(plain).equals(bytes)).toBe(true);
  expect(packed.length).toBeLessThanOrEqual(bytes.length + bytes.length / 6 + 64);
  return packed;
}

const noise = (count: number) => Uint8Array.from({ length: count }, () => random.below(256));

test('default: bytes with repetitions are decoded to the same bytes, and are smaller', () => {
  const words = Array.from({ length: 50 }, () => Buffer.from(noise(random.between(4, 60))));
  for (const count of [1, 10, 1_000, 10_000]) {
    const text = Buffer.concat(Array.from({ length: count }, () => random.pick(words)));
    const packed = expectSame(text);
    if (count >= 1_000) expect(packed.length).toBeLessThan(text.length / 2);
  }
});

test('behavior: bytes without repetitions of every length around the limits of the format', () => {
  for (const count of [0, 1, 4, 12, 59, 60, 61, 255, 256, 257, blockBytes - 1, blockBytes])
    expectSame(noise(count));
  expectSame(noise(blockBytes * 3 + 17));
});

test('behavior: matches of every length, at near and far distances', () => {
  for (let length = 1; length < 200; length++) {
    const part = noise(length);
    expectSame(Buffer.concat([part, noise(5), part, noise(9), part]));
    expectSame(Buffer.concat([part, noise(3_000), part]));
    expectSame(Buffer.alloc(length, 7));
  }
  expectSame(Buffer.alloc(blockBytes * 2 + 3));
});

test('property: random mixtures are decoded to the same bytes', () => {
  for (let run = 0; run < 300; run++) {
    const parts: Uint8Array[] = [noise(random.between(0, 20))];
    for (let i = 0; i < random.between(1, 60); i++) {
      const repeated = random.chance(0.6) ? random.pick(parts) : noise(random.between(0, 90));
      parts.push(repeated.subarray(0, random.between(0, repeated.length)));
    }
    expectSame(Buffer.concat(parts));
  }
});
