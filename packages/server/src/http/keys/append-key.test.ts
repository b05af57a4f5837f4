import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findKey, readKeyFile } from './api-keys.ts';
import { appendKey } from './append-key.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-append-'));
  file = join(folder, 'keys.txt');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('default: the file gets the hash of the key, and only its owner can read it', async () => {
  const key = await appendKey(file, undefined);
  expect(key).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(file, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const [only, ...others] = readKeyFile(file);
  expect([findKey(key, readKeyFile(file))?.name, others]).toEqual([only?.name, []]);
});

test('behavior: a line is added after the others, and an unfinished line is ended first', async () => {
  writeFileSync(file, '# ours\n');
  await appendKey(file, 'x'.repeat(64));
  expect(readFileSync(file, 'utf8')).toMatch(/^# ours\n[0-9a-f]{64} x{64}\n$/);
  writeFileSync(file, '# ours');
  await appendKey(file, 'bob');
  expect(readFileSync(file, 'utf8')).toMatch(/^# ours\n[0-9a-f]{64} bob\n$/);
});

test('error: key-name-invalid, and no file is created', async () => {
  for (const name of ['', 'a b', 'a#b', ' a', 'x'.repeat(65)]) {
    await expect(appendKey(file, name)).rejects.toMatchObject({
      code: 'key-name-invalid',
      detail: { name },
    });
  }
  expect(() => statSync(file)).toThrow('ENOENT');
});

test('error: keys-invalid for a file that the service would refuse, which stays as it is', async () => {
  writeFileSync(file, 'secret\n');
  await expect(appendKey(file, 'a')).rejects.toMatchObject({
    code: 'keys-invalid',
    detail: { line: 1 },
  });
  expect(readFileSync(file, 'utf8')).toBe('secret\n');
});

test('error: cli-file-unwritable has the path and the reason', async () => {
  const path = join(folder, 'none', 'keys.txt');
  await expect(appendKey(path, 'a')).rejects.toMatchObject({
    code: 'cli-file-unwritable',
    detail: { path, reason: 'ENOENT' },
    cause: expect.any(Error),
  });
});
