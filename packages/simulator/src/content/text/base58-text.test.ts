import { decodeBase58 } from '@sluice/base/base58';
import { Random } from '@sluice/base/random';
import { describe, expect, test } from 'vitest';
import { drawSignature } from './base58-text.ts';
import { TextPool } from './text-pool.ts';

describe('base58-text', () => {
  test('property: every signature has 64 bytes', () => {
    const pool = new TextPool();
    const random = Random.fromSeed(1);
    for (let i = 0; i < 2000; i++) {
      pool.passing.clear();
      expect(decodeBase58(pool.read(drawSignature(random, pool.passing)))).toHaveLength(64);
    }
  });
});
