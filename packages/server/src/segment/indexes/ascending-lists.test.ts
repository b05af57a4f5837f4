import fc from 'fast-check';
import { expect, test } from 'vitest';
import { intersect, lowerBound, sliceOf, unite } from './ascending-lists.ts';

const list = fc
  .uniqueArray(fc.integer({ min: 0, max: 200 }), { maxLength: 80 })
  .map((values) => Uint32Array.from(values).sort());

test('property: a union has every number of each list once, ascending', () => {
  fc.assert(
    fc.property(fc.array(list, { maxLength: 5 }), (lists) => {
      const expected = [...new Set(lists.flatMap((one) => [...one]))].sort((a, b) => a - b);
      expect([...unite(lists)]).toEqual(expected);
    }),
  );
});

test('property: an intersection has exactly the numbers of both lists', () => {
  fc.assert(
    fc.property(list, list, (a, b) => {
      expect([...intersect(a, b)]).toEqual([...a].filter((value) => b.includes(value)));
    }),
  );
});

test('behavior: a union of numbers at the ends of 32-bit words is complete', () => {
  const words = [Uint32Array.of(0, 31, 63), Uint32Array.of(31, 32, 64), new Uint32Array(0)];
  expect([...unite(words)]).toEqual([0, 31, 32, 63, 64]);
  expect([...unite([])]).toEqual([]);
});

test('default: a slice has the positions of the numbers from the start up to the end', () => {
  const numbers = Uint32Array.of(2, 4, 4, 9);
  expect(sliceOf(numbers, 4, 9)).toEqual([1, 3]);
  expect(sliceOf(numbers, 0, 100)).toEqual([0, 4]);
  expect(lowerBound(numbers, 10)).toBe(4);
});
