import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCodedError } from '@sluice/base/errors';
import { afterAll, expect, test } from 'vitest';
import { readSmallFile } from './read-small-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-small-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('default: a file of exactly the maximum size is read', () => {
  const path = join(folder, 'most');
  writeFileSync(path, 'x'.repeat(1_000));
  expect(readSmallFile(path, 1_000).toString()).toBe('x'.repeat(1_000));
});

test('limit: cli-file-too-large is thrown for one byte more, and for an endless device', () => {
  const path = join(folder, 'more');
  writeFileSync(path, 'x'.repeat(1_001));
  for (const long of [path, '/dev/zero']) {
    expect(() => readSmallFile(long, 1_000)).toThrow(
      expect.toSatisfy((error) => isCodedError(error, 'cli-file-too-large')),
    );
  }
});
