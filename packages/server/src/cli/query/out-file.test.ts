import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OutFile } from './out-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-out-'));
  path = join(folder, 'records.csv');
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (options: { request?: string; force?: boolean } = {}) =>
  OutFile.open({ path, request: 'q', force: false, heading: 'slot\n', ...options });
const text = () => readFileSync(path, 'utf8');
const cursor = (number: number) => ({ blocks: [{ number, hash: `H${number}` }] });
const rows = (...slots: number[]) => slots.map((slot) => [slot, `${slot}\n`] as const);

test('default: a second run continues the file, which has its heading once', async () => {
  const first = await open();
  await first.append(rows(1, 2));
  await first.note(cursor(2), undefined, 0);
  await first.close();
  const second = await open();
  expect(second.cursor).toEqual(cursor(2));
  await second.append(rows(3));
  await second.note(cursor(3), undefined, 0);
  await second.close();
  expect(text()).toBe('slot\n1\n2\n3\n');
});

test('behavior: text after the last saved cursor is truncated, also an incomplete line', async () => {
  const first = await open();
  await first.append(rows(1));
  await first.note(cursor(1), undefined, 0);
  await first.close();
  appendFileSync(path, '2\n3');
  const second = await open();
  expect([text(), second.cursor]).toEqual(['slot\n1\n', cursor(1)]);
  await second.close();
});

test('behavior: a fork truncates the file to the common block and changes nothing below it', async () => {
  const file = await open();
  await file.append(rows(1, 2, 5, 6));
  await file.note(cursor(6), 2, 0);
  await file.rollBack(5, cursor(5));
  expect(text()).toBe('slot\n1\n2\n5\n');
  // The common block has no line in the file.
  await file.rollBack(4, cursor(4));
  expect(text()).toBe('slot\n1\n2\n');
  await file.append(rows(7));
  await file.note(cursor(7), 2, 0);
  await file.close();
  expect(text()).toBe('slot\n1\n2\n7\n');
});

test('behavior: the file is truncated only after its new length was saved, so that a crash between them loses nothing', async () => {
  const file = await open();
  await file.append(rows(1, 2, 3));
  await file.note(cursor(3), 1, 5_000);
  // The state cannot be saved while a folder has the name of its temporary file.
  const obstacle = `${path}.cursor.${process.pid}.tmp`;
  mkdirSync(obstacle);
  await expect(file.rollBack(2, cursor(2))).rejects.toMatchObject({ code: 'cli-file-unwritable' });
  expect(text()).toBe('slot\n1\n2\n3\n');
  const other = await open();
  expect(other.cursor).toEqual(cursor(3));
  rmSync(obstacle, { recursive: true });
  await other.close();
  await file.close();
});

test('behavior: a fork below the first line leaves only the heading', async () => {
  const file = await open();
  await file.append(rows(5, 6));
  await file.note(cursor(6), undefined, 0);
  await file.rollBack(4, cursor(4));
  expect(text()).toBe('slot\n');
  await file.close();
});

test('error: cli-out-damaged for a fork below the blocks whose positions are known', async () => {
  const file = await open();
  await file.append(rows(1, 2, 3));
  await file.note(cursor(3), 2, 0);
  await expect(file.rollBack(1, cursor(1))).rejects.toMatchObject({ code: 'cli-out-damaged' });
  await file.close();
});

test('error: cli-file-exists, cli-out-differs and cli-out-damaged, until --force overwrites the file', async () => {
  const first = await open();
  await first.append(rows(1));
  await first.note(cursor(1), undefined, 0);
  await first.close();
  await expect(open({ request: 'other' })).rejects.toMatchObject({ code: 'cli-out-differs' });
  truncateSync(path, 2);
  await expect(open()).rejects.toMatchObject({ code: 'cli-out-damaged' });
  rmSync(`${path}.cursor`);
  await expect(open()).rejects.toMatchObject({ code: 'cli-file-exists' });
  const again = await open({ request: 'other', force: true });
  await again.close();
  expect(text()).toBe('slot\n');
});
