import { expect, test } from 'vitest';
import { hasMembers, memberOf, messageOf } from './unknown-value.ts';

test.each([
  [{ a: 1 }, 1],
  [{ b: 1 }, undefined],
  [{ a: null }, null],
  [null, undefined],
  [undefined, undefined],
  ['text', undefined],
])('default: the member a of %j is %j', (value, expected) => {
  expect(memberOf(value, 'a')).toBe(expected);
});

test('behavior: elements of an array are its members', () => {
  expect(memberOf(['x', 'y'], '1')).toBe('y');
  expect(hasMembers([])).toBe(true);
});

test.each([
  [new TypeError('no such host'), 'no such host'],
  ['a text', 'a text'],
  [undefined, 'undefined'],
  [{ message: 7 }, '[object Object]'],
])('default: the message of %s is a text', (error, expected) => {
  expect(messageOf(error)).toBe(expected);
});
