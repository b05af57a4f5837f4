import { expect, test } from 'vitest';
import { valueOfKey } from './value-of-key.ts';

test('default: returns the value, which may be 0', () => {
  expect(valueOfKey(new Map([['a', 0]]), 'a')).toBe(0);
});

test('behavior: a missing key is a bug', () => {
  expect(() => valueOfKey(new Map([['a', 0]]), 'b')).toThrow('the map has the key');
});
