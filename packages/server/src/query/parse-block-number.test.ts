import { isCodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { parseBlockNumber } from './parse-block-number.ts';

function rejection(text: string): unknown {
  try {
    return parseBlockNumber(text, 'fromBlock');
  } catch (error) {
    if (isCodedError(error)) return { code: error.code, ...error.detail };
    throw error;
  }
}

const details = {
  code: 'query-block-number-invalid',
  path: 'fromBlock',
  allowed: 'a non-negative integer',
};

test.each(['NaN', '', '1x', '-1', '0.5', '+1', '1e400'])(
  'error: query-block-number-invalid for %j',
  (found) => {
    expect(rejection(found)).toEqual({ ...details, found });
  },
);

test('limit: an error shows at most 40 digits of the text', () => {
  const forty = `0.${'1'.repeat(38)}`;
  expect(rejection(forty)).toEqual({ ...details, found: forty });
  expect(rejection(`${forty}2`)).toEqual({ ...details, found: `${forty}…` });
});

test.each([
  ['000', 0n],
  ['0.00', 0n],
  ['0.0005e4', 5n],
  ['0.0e-5', 0n],
  ['100e-2', 1n],
  ['12.30e3', 12300n],
])('behavior: %s is %i', (text, expected) => {
  expect(parseBlockNumber(text, 'fromBlock')).toBe(expected);
});
