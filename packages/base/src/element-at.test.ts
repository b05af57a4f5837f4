import { expect, test } from 'vitest';
import { elementAt } from './element-at.ts';

test('default: an element is found by its index, also from the end', () => {
  expect([elementAt(['a', 'b', 'c'], 0), elementAt(['a', 'b', 'c'], -1)]).toEqual(['a', 'c']);
});

test('behavior: an element of a typed array may be 0', () => {
  expect(elementAt(Uint32Array.of(7, 0), 1)).toBe(0);
  expect(elementAt(BigUint64Array.of(7n), 0)).toBe(7n);
});

test('error: a missing element is a bug', () => {
  expect(() => elementAt(['a'], 1)).toThrow('the list has an element at the index');
});
