import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { isCodedError } from '../../base/errors.ts';
import { findKey, parseKeys, shownKey } from './api-keys.ts';

const hash = (key: string) => createHash('sha256').update(key).digest('hex');
const keys = parseKeys(`# keys\n${hash('one')} alice\n\n${hash('two').toUpperCase()}\n`);

test('default: a key file has one hash per line, with or without a name (S-01)', () => {
  expect(keys.map(({ name }) => name)).toEqual(['alice', hash('two').toUpperCase().slice(0, 8)]);
});

test.each([
  [{ authorization: 'Bearer one' }, 'alice'],
  [{ authorization: 'bearer  one' }, 'alice'],
  [{ 'x-api-key': 'one' }, 'alice'],
  [{ authorization: 'Basic one' }, undefined],
  [{ authorization: 'Bearer One' }, undefined],
  [{ 'x-api-key': '' }, undefined],
  [{}, undefined],
])('behavior: the headers %j contain the key %s', (headers, name) => {
  const shown = shownKey(headers);
  expect(shown === undefined ? undefined : findKey(shown, keys)?.name).toBe(name);
});

test('error: keys-invalid names the line', () => {
  const fault = () => parseKeys(`${hash('one')}\nsecret\n`);
  try {
    fault();
    expect.unreachable();
  } catch (error) {
    expect(isCodedError(error, 'keys-invalid') && error.detail).toEqual({ line: 2 });
  }
});
