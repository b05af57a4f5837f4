import { expect, test } from 'vitest';
import { elementAt } from './element-at.ts';

test('default: an element is found by its index, also from the end', () => {
  expect([elementAt(['a', 'b', 'c'], 0), elementAt(['a', 'b', 'c'], -1)]).toEqual(['a', 'c']);
});

test('error: a missing element is a bug', () => {
  expect(() => elementAt(['a'], 1)).toThrow('the list has an element at the index');
});
