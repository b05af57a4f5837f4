import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Random } from '../../base/random.ts';
import {
  buildDataTemplate,
  DigitTape,
  drawAddress,
  drawData,
  drawSignature,
} from './base58-text.ts';
import { decodeBase58 } from './testing/decode-base58.ts';
import { TextPool } from './text-pool.ts';

const pool = new TextPool();
const { passing } = pool;
beforeEach(() => passing.clear());

describe('base58-text', () => {
  test('property: every address is 32 bytes and every signature 64', () => {
    const tape = new DigitTape(Random.fromSeed(1));
    const lengths = new Set<number>();
    for (let i = 0; i < 2000; i++) {
      const address = pool.read(drawAddress(tape, passing));
      lengths.add(address.length);
      expect(decodeBase58(address)).toHaveLength(32);
      expect(decodeBase58(pool.read(drawSignature(tape, passing)))).toHaveLength(64);
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
          const bytes = decodeBase58(pool.read(drawData(template, tape, passing)));
          expect(bytes).toHaveLength(byteCount);
          expect(bytes.subarray(0, start.length)).toEqual(start);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('behavior: a tape that starts again is as good as a new one', () => {
    const tape = new DigitTape(Random.fromSeed(1), 100);
    drawAddress(tape, passing);
    tape.restart(Random.fromSeed(2), 43);
    const fresh = new DigitTape(Random.fromSeed(2), 43);
    for (let i = 0; i < 3; i++) {
      expect(pool.read(drawAddress(tape, passing))).toBe(pool.read(drawAddress(fresh, passing)));
    }
  });

  test('behavior: the rest of the data varies', () => {
    const template = buildDataTemplate([3], 9);
    const tape = new DigitTape(Random.fromSeed(1));
    const texts = Array.from({ length: 100 }, () => pool.read(drawData(template, tape, passing)));
    expect(new Set(texts).size).toBe(100);
  });
});
