import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemErrorCode } from './system-error-code.ts';

test('default: an error of the operating system has its code', () => {
  let caught: unknown;
  try {
    readFileSync('/no/such/file');
  } catch (error) {
    caught = error;
  }
  expect(systemErrorCode(caught)).toBe('ENOENT');
});

test.each([undefined, null, 'ENOENT', new Error('no code'), { code: 5 }])(
  'behavior: %s has no code',
  (value) => {
    expect(systemErrorCode(value)).toBeUndefined();
  },
);
