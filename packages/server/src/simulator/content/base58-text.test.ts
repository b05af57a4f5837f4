import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Random } from '../../base/random.ts';
import {
  buildDataTemplate,
  DigitTape,
  drawAddress,
  drawData,
  drawSignature,
} from './base58-text.ts';
import { decodeBase58 } from './testing/decode-base58.ts';

describe('base58-text', () => {
  test('property: every address is 32 bytes and every signature 64', () => {
    const tape = new DigitTape(Random.fromSeed(1));
    const lengths = new Set<number>();
    for (let i = 0; i < 2000; i++) {
      const address = drawAddress(tape);
      lengths.add(address.length);
      expect(decodeBase58(address)).toHaveLength(32);
      expect(decodeBase58(drawSignature(tape))).toHaveLength(64);
    }
    expect([...lengths].sort()).toEqual([43, 44]);
  });

  test('property: data has the length and the first bytes that were asked for', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 16 }), fc.nat(1200), fc.nat(), (start, more, seed) => {
        const byteCount = start.length + more;
        const template = buildDataTemplate([...start], byteCount);
        const tape = new DigitTape(Random.fromSeed(seed));
        for (let i = 0; i < 3; i++) {
          const bytes = decodeBase58(drawData(template, tape));
          expect(bytes).toHaveLength(byteCount);
          expect(bytes.subarray(0, start.length)).toEqual(start);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('behavior: the rest of the data varies', () => {
    const template = buildDataTemplate([3], 9);
    const tape = new DigitTape(Random.fromSeed(1));
    const texts = Array.from({ length: 100 }, () => drawData(template, tape));
    expect(new Set(texts).size).toBe(100);
  });
});
