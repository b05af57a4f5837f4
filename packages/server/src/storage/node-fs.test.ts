import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Journal } from './journal.ts';
import { nodeFs } from './node-fs.ts';
import { openRangeFile, writeFileDurably } from './range-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-links-'));
const outside = join(folder, 'outside');
const refused = { code: 'storage-failed', detail: { errno: 'ELOOP' } };
afterAll(() => rmSync(folder, { recursive: true }));

test('behavior: S-16 a symbolic link as a file of a data folder is neither read nor written', async () => {
  writeFileSync(outside, 'precious');
  const link = join(folder, 'link');
  symlinkSync(outside, link);
  await expect(nodeFs.openFile(link, 'read')).rejects.toMatchObject(refused);
  await expect(nodeFs.openFile(link, 'write')).rejects.toMatchObject(refused);
  await expect(nodeFs.openFile(link, 'create')).rejects.toThrow();
  expect(() => openRangeFile(link)).toThrow('cannot be opened');
  symlinkSync(outside, join(folder, 'index.tmp'));
  expect(() => writeFileDurably(join(folder, 'index'), () => undefined)).toThrow('ELOOP');
  expect(readFileSync(outside, 'utf8')).toBe('precious');
});

test('behavior: S-16 a symbolic link as a file of the journal is refused, and a folder may be a link', async () => {
  const real = join(folder, 'real');
  mkdirSync(real);
  symlinkSync(real, join(folder, 'moved'));
  const options = { folder: join(folder, 'moved'), fileBytesMax: 4_000 };
  const { journal } = await Journal.open(options, { fs: nodeFs });
  await journal.rotate('[]', new Set(), new Set());
  await journal.append('[1]', []);
  await journal.close();
  const [name = ''] = await nodeFs.list(real);
  const bytes = readFileSync(join(real, name));
  rmSync(join(real, name));
  writeFileSync(outside, bytes);
  symlinkSync(outside, join(real, name));
  await expect(Journal.open(options, { fs: nodeFs })).rejects.toMatchObject(refused);
  expect(readFileSync(outside)).toEqual(bytes);
});
