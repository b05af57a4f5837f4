import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findKey, readKeyFile } from '../../http/keys/api-keys.ts';
import { main } from '../main.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
  file = join(folder, 'keys.txt');
});
afterEach(() => rmSync(folder, { recursive: true }));

async function create(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough();
  const err = new PassThrough();
  const code = await main(['keys', 'create', ...args], { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

const mode = () => statSync(file).mode & 0o777;

test('default: the printed key is accepted by a service with the file, and the file does not contain it', async () => {
  const { code, out, err } = await create('--keys', file, '--name', 'alice');
  expect(code).toBe(0);
  expect(out).toMatch(/^[\w-]{43}\n$/);
  const key = out.trim();
  expect(findKey(key, readKeyFile(file))?.name).toBe('alice');
  expect(readFileSync(file, 'utf8') + err).not.toContain(key);
  expect(mode()).toBe(0o600);
});

test('behavior: a second key is appended, also after a line without a line feed, and the mode of the file stays', async () => {
  const first = (await create('--keys', file)).out.trim();
  writeFileSync(file, `# ours\n${readFileSync(file, 'utf8').trimEnd()}`);
  chmodSync(file, 0o640);
  const second = (await create('--keys', file, '--name', 'bob')).out.trim();
  const keys = readKeyFile(file);
  expect(keys).toHaveLength(2);
  expect(first).not.toBe(second);
  for (const [i, key] of [first, second].entries()) {
    expect(findKey(key, keys)).toBe(keys[i]);
  }
  expect(mode()).toBe(0o640);
});

test('error: an invalid key file, an invalid name or a folder is refused, and nothing is written', async () => {
  writeFileSync(file, 'secret\n');
  const damaged = await create('--keys', file);
  expect([damaged.code, damaged.out]).toEqual([1, '']);
  expect(damaged.err).toContain('[keys-invalid]');
  expect(readFileSync(file, 'utf8')).toBe('secret\n');
  for (const name of ['a b', 'a#b', '', 'x'.repeat(65)]) {
    const { code, err } = await create('--keys', join(folder, 'other'), '--name', name);
    expect([code, err]).toEqual([1, expect.stringContaining('[key-name-invalid]')]);
  }
  const nowhere = await create('--keys', join(folder, 'none/keys.txt'));
  expect(nowhere.err).toContain('reason no such file or directory) [cli-file-unwritable]');
  expect((await create()).code).toBe(2);
});
