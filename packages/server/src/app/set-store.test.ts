import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodeFs } from '../storage/node-fs.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { makeHash } from '../stream/testing/make-block.ts';
import { SetStore } from './set-store.ts';

let data: string;
let logged: string[];
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sluice-sets-'));
  logged = [];
});
afterEach(() => rmSync(data, { recursive: true }));

const open = () =>
  SetStore.open(data, {
    fs: nodeFs,
    log: pino({}, { write: (line) => void logged.push(line) }),
  });

const addresses = (first: number, count: number) =>
  Buffer.from(Array.from({ length: count }, (_, i) => `${makeHash('s', first + i)}\n`).join(''));

test('behavior: a set is in use at once, and after a restart with the same version', async () => {
  const store = await open();
  expect([store.names, store.list(), store.find('a')]).toEqual([[], [], undefined]);
  const { version } = await store.put('a', addresses(0, 10));
  const other = await store.put('b', addresses(5, 3));
  expect(store.find('a')).toMatchObject({ name: 'a', version, count: 10 });
  const again = await open();
  expect(again.list()).toEqual(store.list());
  expect(again.list()).toMatchObject([
    { name: 'a', version, addresses: 10 },
    { name: 'b', version: other.version, addresses: 3 },
  ]);
  expect(readdirSync(join(data, '_sets'))).toEqual(['a', 'b']);
});

test('behavior: the version before the current one stays known until the process ends', async () => {
  const store = await open();
  const versions: string[] = [];
  for (const first of [0, 1, 2]) {
    const { version } = await store.put('a', addresses(first, 10));
    versions.push(version);
  }
  expect(versions.map((version) => store.find('a', version)?.version)).toEqual([
    undefined,
    versions[1],
    versions[2],
  ]);
  // The same content is the same version and displaces none.
  await store.put('a', addresses(2, 10));
  expect(store.find('a', versions[1])?.count).toBe(10);
  expect((await open()).find('a', versions[1])).toBeUndefined();
});

test('behavior: a removed set is gone from memory and disk', async () => {
  const store = await open();
  await store.put('a', addresses(0, 1));
  expect([await store.remove('a'), await store.remove('a')]).toEqual([true, false]);
  expect(store.names).toEqual([]);
  expect((await open()).names).toEqual([]);
});

test('behavior: a damaged file is logged and left out, and the others are read', async () => {
  const store = await open();
  await store.put('a', addresses(0, 4));
  await store.put('b', addresses(0, 4));
  const file = join(data, '_sets', 'a');
  const bytes = readFileSync(file);
  bytes[40] = (bytes[40] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  writeFileSync(join(data, '_sets', 'c.tmp'), 'a write that was interrupted');
  expect((await open()).names).toEqual(['b']);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('checksum');
});

test('error: set-invalid changes nothing', async () => {
  const store = await open();
  const { version } = await store.put('a', addresses(0, 4));
  await expect(store.put('a', Buffer.from('not an address'))).rejects.toMatchObject({
    code: 'set-invalid',
  });
  expect(store.find('a')?.version).toBe(version);
  expect((await open()).find('a')?.version).toBe(version);
});

test('limit: a hundred sets', async () => {
  const store = await SetStore.open('data', { fs: new SimFs(), log: pino({ level: 'silent' }) });
  for (let i = 0; i < 100; i++) await store.put(`s${i}`, addresses(i, 1));
  await expect(store.put('more', addresses(0, 1))).rejects.toMatchObject({ code: 'set-too-large' });
  await store.put('s7', addresses(0, 2));
  expect(store.names).toHaveLength(100);
});
