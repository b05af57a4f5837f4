import { beforeEach, describe, expect, test } from 'vitest';
import { Random } from '../../base/random.ts';
import { DigitTape, drawSignature } from './base58-text.ts';
import { decodeBase58 } from './testing/decode-base58.ts';
import { TextPool } from './text-pool.ts';

const pool = new TextPool();
const { passing } = pool;
beforeEach(() => passing.clear());

describe('base58-text', () => {
  test('property: every signature has 64 bytes', () => {
    const tape = new DigitTape(Random.fromSeed(1));
    for (let i = 0; i < 2000; i++) {
      expect(decodeBase58(pool.read(drawSignature(tape, passing)))).toHaveLength(64);
    }
  });

  test('behavior: a tape that starts again is as good as a new one', () => {
    const tape = new DigitTape(Random.fromSeed(1), 100);
    drawSignature(tape, passing);
    tape.restart(Random.fromSeed(2), 88);
    const fresh = new DigitTape(Random.fromSeed(2), 88);
    for (let i = 0; i < 3; i++) {
      expect(pool.read(drawSignature(tape, passing))).toBe(
        pool.read(drawSignature(fresh, passing)),
      );
    }
  });
});
