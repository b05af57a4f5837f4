import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addList, addNumbers, readList, readNumbers } from '../testing/read-pool.ts';
import { type PooledText, TEXT_BYTES_MAX, TextPool } from './text-pool.ts';

/** Lengths around the limit of short texts, and characters of one to four bytes. */
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'binary-ascii', minLength: 60, maxLength: 70 }),
  fc.constantFrom('', 'é', 'x'.repeat(20_000)),
);

describe('text-pool', () => {
  test('property: texts of both regions are read unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(texts, fc.boolean()), { maxLength: 50 }), (rows) => {
        const pool = new TextPool();
        const added = rows.map(([text, isLasting]): [string, PooledText] => {
          return [text, (isLasting ? pool.lasting : pool.passing).add(text)];
        });
        for (const [text, pooled] of added) expect(pool.read(pooled)).toBe(text);
      }),
      { numRuns: 100 },
    );
  });

  test('property: lists are read unchanged', () => {
    const pool = new TextPool();
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 20 }), fc.uint8Array(), (values, numbers) => {
        pool.passing.clear();
        const list = addList(
          pool,
          values.map((value) => pool.passing.add(value)),
        );
        const numberList = addNumbers(pool, [...numbers]);
        expect(readList(pool, list)).toEqual(values);
        expect(readNumbers(pool, numberList)).toEqual([...numbers]);
      }),
      { numRuns: 100 },
    );
  });

  test('behavior: texts of a transaction are overwritten by the next one, lasting texts stay', () => {
    const pool = new TextPool();
    const lasting = pool.lasting.add('lasting');
    const first = pool.passing.add('first');
    pool.passing.clear();
    expect(pool.passing.add('other')).toBe(first);
    expect([pool.read(first), pool.read(lasting)]).toEqual(['other', 'lasting']);
  });

  test('behavior: texts are unchanged when the memory grows', () => {
    const pool = new TextPool();
    const added = Array.from({ length: 3_000 }, (_, i) => pool.lasting.add(`${i}`.repeat(300)));
    expect(pool.size).toBeGreaterThan(2 * 1024 * 1024);
    added.forEach((text, i) => {
      expect(pool.read(text)).toBe(`${i}`.repeat(300));
    });
  });

  test('limit: a text that is too long, or too many texts of a transaction, are rejected', () => {
    const pool = new TextPool();
    expect(() => pool.lasting.add('x'.repeat(TEXT_BYTES_MAX + 1))).toThrow();
    const fill = () => {
      for (let i = 0; i < 100; i++) pool.passing.add('x'.repeat(TEXT_BYTES_MAX));
    };
    expect(fill).toThrow();
  });
});
