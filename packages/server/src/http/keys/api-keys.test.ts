import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { findKey, keyId, parseKeys, readKeyFile, shownKey } from './api-keys.ts';

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
  [{ authorization: 'Bearer one two' }, undefined],
  [{ authorization: 'xBearer one' }, undefined],
  [{ authorization: 'Bearerone' }, undefined],
  [{ 'x-api-key': 'two', authorization: 'Bearer one' }, hash('two').toUpperCase().slice(0, 8)],
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

test('behavior: a comment may follow a key, and words after the name are ignored', () => {
  const [first, second] = parseKeys(`  ${hash('one')}\tbob other # note\n${hash('two')}#x`);
  expect([first?.name, second?.name]).toEqual(['bob', hash('two').slice(0, 8)]);
  expect(first && keyId(first)).toBe(hash('one'));
});

test('behavior: keys whose hashes begin alike are told apart, and of two lines for one key the last counts', () => {
  const alike = `${hash('one').slice(0, 8)}${hash('two').slice(8)}`;
  const some = parseKeys(
    `${alike} other\n${hash('one')} first\n${hash('one')} last\n${alike} other\n`,
  );
  expect([findKey('one', some)?.name, findKey('two', some)]).toEqual(['last', undefined]);
});

test.each(['z'.repeat(64), 'a'.repeat(63), 'a'.repeat(65)])(
  'error: keys-invalid for %s',
  (text) => {
    expect(() => parseKeys(`${text}\n`, { file: 'keys.txt' })).toThrow(
      expect.objectContaining({ code: 'keys-invalid', detail: { file: 'keys.txt', line: 1 } }),
    );
  },
);

test('error: a key file that is missing, too large or invalid is named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
  try {
    const file = join(folder, 'keys.txt');
    expect(() => readKeyFile(file)).toThrow(
      expect.objectContaining({
        code: 'cli-file-unreadable',
        detail: { file, reason: 'ENOENT' },
        cause: expect.any(Error),
      }),
    );
    writeFileSync(file, `${hash('one')} alice\n`);
    expect(readKeyFile(file).map(({ name }) => name)).toEqual(['alice']);
    writeFileSync(file, 'secret');
    expect(() => readKeyFile(file)).toThrow(
      expect.objectContaining({ code: 'keys-invalid', detail: { file, line: 1 } }),
    );
    truncateSync(file, (16 << 20) + 1);
    expect(() => readKeyFile(file)).toThrow(
      expect.objectContaining({ code: 'cli-file-too-large' }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('limit: a key is found without a comparison with every other one', () => {
  let comparedCount = 0;
  const many = parseKeys(
    Array.from({ length: 1_000 }, (_, i) => `${hash(`key ${i}`)} k${i}`).join('\n'),
  ).map(({ name, hash: value }) => ({
    name,
    get hash() {
      comparedCount++;
      return value;
    },
  }));
  expect(findKey('key 7', many)?.name).toBe('k7');
  comparedCount = 0;
  expect([findKey('key 999', many)?.name, findKey('wrong', many)]).toEqual(['k999', undefined]);
  expect(comparedCount).toBe(1);
});
