import { expect, test } from 'vitest';
import { findNearestName } from './find-nearest-name.ts';

const names = ['programId', 'mentionsAccount', 'd1', 'd8', 'transaction'];

test('default: a likely typo gives the closest name, regardless of case', () => {
  expect(findNearestName('programid', names)).toBe('programId');
  expect(findNearestName('progamId', names)).toBe('programId');
  expect(findNearestName('mentionAccounts', names)).toBe('mentionsAccount');
});

test('behavior: swapped neighbours count as one change', () => {
  // Two changes would be too many for a name of five characters.
  expect(findNearestName('votse', ['votes'])).toBe('votes');
  expect(findNearestName('vxtse', ['votes'])).toBeUndefined();
});

test('limit: a name that is too different or too long gives nothing', () => {
  expect(findNearestName('balances', names)).toBeUndefined();
  expect(findNearestName('transaction'.repeat(10), names)).toBeUndefined();
});
