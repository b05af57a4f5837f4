import { pbkdf2 } from 'node:crypto';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CodedError } from '@sluice/base/errors';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import type { Fs } from '../storage/fs.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { catalogueName, parseCatalogue } from './cache-catalogue.ts';
import { CachedRangeFile } from './cached-range-file.ts';
import { ObjectCache } from './object-cache.ts';
import { Presence } from './presence.ts';
import { MemoryStore } from './testing/memory-store.ts';

const megabyte = 1 << 20;
let folder: string;
let store: MemoryStore;
let clock: ManualClock;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cache-'));
  store = new MemoryStore();
  clock = new ManualClock();
});
afterEach(async () => {
  for (const cache of opened.splice(0)) await cache.close();
  rmSync(folder, { recursive: true });
});

const opened: ObjectCache[] = [];

async function open(bytesMax = 100 * megabyte, fs: Fs = nodeFs): Promise<ObjectCache> {
  const options = { folder, bytesMax, requestCountMax: 4 };
  const cache = await ObjectCache.open(options, { store, clock, fs });
  opened.push(cache);
  return cache;
}

async function put(name: string, byteLength = megabyte): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteLength);
  for (let i = 0; i < byteLength; i++) bytes[i] = i * 7 + (i >> 9);
  await store.put(name, bytes);
  return bytes;
}

const dataFiles = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== catalogueName)
    .map(({ parentPath, name }) => join(parentPath, name));

const gets = () => store.calls.filter((call) => call.startsWith('get')).length;

test('default: ranges are fetched once, and ranges close to each other by one request', async () => {
  const bytes = await put('a');
  const object = (await open()).use('a', 'a', bytes.length);
  expect(await object.read(10_000, 100)).toEqual(bytes.slice(10_000, 10_100));
  expect(await object.read(10_050, 20)).toEqual(bytes.slice(10_050, 10_070));
  expect(gets()).toBe(1);
  await object.fetch([
    { start: 100_000, end: 100_010 },
    { start: 120_000, end: 120_010 },
    { start: 900_000, end: 900_010 },
  ]);
  expect(gets()).toBe(3);
  expect(await object.read(bytes.length - 5, 100)).toEqual(bytes.slice(-5));
});

test('behavior: readers of the same range share one request', async () => {
  const bytes = await put('a');
  const object = (await open()).use('a', 'a', bytes.length);
  const reads = Array.from({ length: 5 }, () => object.read(5_000, 10));
  for (const read of await Promise.all(reads)) expect(read).toEqual(bytes.slice(5_000, 5_010));
  expect(gets()).toBe(1);
});

test('behavior: fetched ranges survive a restart, and without a catalogue they are fetched again', async () => {
  const bytes = await put('a');
  const read = async () => {
    const cache = await open();
    const { bytes: restored } = cache;
    const object = cache.use('a', 'a', bytes.length);
    expect(await object.read(10_000, 100)).toEqual(bytes.slice(10_000, 10_100));
    expect(await object.read(bytes.length - 5, 5)).toEqual(bytes.slice(-5));
    await cache.close();
    return restored;
  };
  expect(await read()).toBe(0);
  expect(gets()).toBe(2);
  expect(await read()).toBe(8_192);
  expect(gets()).toBe(2);
  writeFileSync(join(folder, catalogueName), 'nonsense');
  expect(await read()).toBe(0);
  expect(gets()).toBe(4);
  expect(dataFiles()).toHaveLength(1);
});

test('behavior: the files of the first version, which had no catalogue, are removed', async () => {
  for (const name of ['a.data', 'a.map', 'b.map.tmp']) writeFileSync(join(folder, name), 'old');
  await (await open()).close();
  expect(readdirSync(folder)).toEqual([catalogueName]);
});

test('limit: an object has a file only while something of it is cached', async () => {
  const cache = await open(8_192);
  await put('a');
  for (const name of ['a', 'b', 'c']) expect(cache.use(name, 'a', megabyte).location).toBeDefined();
  expect(dataFiles()).toEqual([]);
  expect([...cache.names()]).toEqual([]);
  const objects = ['a', 'b', 'c'].map((name) => cache.use(name, 'a', megabyte));
  for (const object of objects) await object.read(0, 1);
  expect([...cache.names()]).toEqual(['b', 'c']);
  store.isDown = true;
  await expect(cache.use('d', 'a', megabyte).read(0, 1)).rejects.toThrow();
  await cache.close();
  expect(dataFiles()).toHaveLength(2);
  expect([...parseCatalogue(readFileSync(join(folder, catalogueName))).files.keys()]).toEqual([
    'b',
    'c',
  ]);
});

test('error: cache-failed: an object whose first write failed keeps no file, and is fetched again', async () => {
  const bytes = await put('a');
  let isFailing = true;
  const fs: Fs = Object.assign(Object.create(nodeFs) as Fs, {
    openFile: async (path: string, mode: 'read' | 'write' | 'create') => {
      const file = await nodeFs.openFile(path, mode);
      const { write } = file;
      file.write = (offset, parts) =>
        isFailing && !path.includes(catalogueName)
          ? Promise.reject(new CodedError('storage-failed', { path, operation: 'write' }))
          : write.call(file, offset, parts);
      return file;
    },
  });
  const cache = await open(100 * megabyte, fs);
  const object = cache.use('a', 'a', bytes.length);
  await expect(object.read(0, 10)).rejects.toMatchObject({ code: 'cache-failed' });
  expect(object.file).toBeUndefined();
  await vi.waitUntil(() => dataFiles().length === 0);
  isFailing = false;
  expect(await object.read(0, 10)).toEqual(bytes.slice(0, 10));
  await cache.close();
  expect(dataFiles()).toHaveLength(1);
});

test('behavior: an object whose file is missing is fetched again', async () => {
  const bytes = await put('a');
  const first = await open();
  await first.use('a', 'a', bytes.length).read(0, 10);
  await first.close();
  for (const path of dataFiles()) rmSync(path);
  const second = await open();
  expect(await second.use('a', 'a', bytes.length).read(0, 10)).toEqual(bytes.slice(0, 10));
  expect(second.bytes).toBe(4_096);
});

test('limit: the cache stays within its size, evicts objects that were used once first, and frees the disk space', async () => {
  const cache = await open(4 * megabyte);
  const bytes = await put('often');
  await cache.use('often', 'often', megabyte).read(0, megabyte);
  clock.advance(61_000);
  await cache.use('often', 'often', megabyte).read(0, 10);
  for (let i = 0; i < 10; i++) {
    await put(`scan-${i}`);
    await cache.use(`scan-${i}`, `scan-${i}`, megabyte).read(0, megabyte);
  }
  expect(cache.bytes).toBeLessThanOrEqual(4 * megabyte);
  const before = gets();
  const again = await cache.use('often', 'often', megabyte).read(0, megabyte);
  expect(Buffer.compare(again, bytes)).toBe(0);
  expect(gets()).toBe(before);
  await cache.use('scan-0', 'scan-0', megabyte).read(0, 1);
  expect(gets()).toBe(before + 1);
  await cache.close();
  const blocks = dataFiles().reduce((sum, path) => sum + statSync(path).blocks * 512, 0);
  expect(blocks).toBeLessThanOrEqual(5 * megabyte);
});

test('behavior: a thread that reads while its object is evicted fetches again and never returns zeros', async () => {
  const bytes = await put('a', 8_192);
  const cache = await open();
  const object = cache.use('a', 'a', bytes.length);
  await object.fetch([{ start: 0, end: bytes.length }]);
  const wanted: number[] = [];
  const file = new CachedRangeFile(object.location, {
    fetchNow: (ranges) => {
      wanted.push(...ranges.map(({ start }) => start));
      // The main thread does this while the worker waits.
      throw new Error(`needs ${ranges.length}`);
    },
    fetchAhead: () => undefined,
  });
  expect(Buffer.compare(file.read(100, 50), bytes.slice(100, 150))).toBe(0);
  object.evict();
  expect(() => file.read(100, 50)).toThrow('needs 1');
  expect(wanted).toEqual([100]);
  file.close();
});

test('behavior: an eviction between the check and the read is noticed', async () => {
  const bytes = await put('a', 8_192);
  const object = (await open()).use('a', 'a', bytes.length);
  await object.fetch([{ start: 0, end: bytes.length }]);
  const file = new CachedRangeFile(object.location, {
    fetchNow: (ranges) => {
      throw new Error(`needs ${ranges.length}`);
    },
    fetchAhead: () => undefined,
  });
  const target: Uint8Array = new Uint8Array(50);
  // `readInto` calls `subarray` after the check, immediately before it reads the file.
  target.subarray = (start, end) => {
    object.evict();
    return Uint8Array.prototype.subarray.call(target, start, end);
  };
  expect(() => file.readInto(100, target)).toThrow('needs 1');
  file.close();
});

test('error: store-unreachable: a failed fetch is reported, and the next attempt works', async () => {
  const bytes = await put('a');
  const object = (await open()).use('a', 'a', bytes.length);
  store.isDown = true;
  await expect(object.read(0, 10)).rejects.toMatchObject({ code: 'store-unreachable' });
  store.isDown = false;
  expect(await object.read(0, 10)).toEqual(bytes.slice(0, 10));
});

test('limit: many objects share few open files, and each is read again after its file was closed', async () => {
  const cache = await open();
  const bytes = await put('shared', 5_000);
  const before = readdirSync('/proc/self/fd').length;
  for (let i = 0; i < 600; i++) {
    const object = cache.use(`object-${i}`, 'shared', bytes.length);
    expect(await object.read(i, 3)).toEqual(bytes.slice(i, i + 3));
  }
  expect(readdirSync('/proc/self/fd').length - before).toBeLessThan(300);
  const calls = gets();
  const first = cache.use('object-0', 'shared', bytes.length);
  expect(await first.read(0, 3)).toEqual(bytes.slice(0, 3));
  expect(gets()).toBe(calls);
  await cache.close();
});

test('limit: the budget for bytes in advance counts those in progress only, also after a failure', async () => {
  const bytes = await put('a', 8 * megabyte);
  const cache = await open();
  const half = [{ start: 0, end: 4 * megabyte }];
  store.isDown = true;
  // More than 64 MiB in all.
  for (let i = 0; i < 20; i++)
    await expect(cache.use(`failed-${i}`, 'a', bytes.length).fetchAhead(half)).rejects.toThrow();
  store.isDown = false;
  const object = cache.use('a', 'a', bytes.length);
  await object.fetchAhead(half);
  const calls = gets();
  expect(await object.read(0, 10)).toEqual(bytes.slice(0, 10));
  expect(gets()).toBe(calls);
});

test('behavior: bytes that are being fetched in advance are not requested again by a reader that needs them', async () => {
  const bytes = await put('a');
  const object = (await open()).use('a', 'a', bytes.length);
  const ahead = object.fetchAhead([{ start: 200_000, end: 300_000 }]);
  await object.fetch([{ start: 100_000, end: 400_000 }]);
  await ahead;
  const requests = store.calls.filter((call) => call.startsWith('get'));
  expect(requests).toHaveLength(3);
  expect(await object.read(100_000, 300_000)).toEqual(bytes.slice(100_000, 400_000));
  expect(gets()).toBe(3);
});

test('limit: neither evictions nor objects that a lookup keeps for long need more open files', async () => {
  const bytes = await put('shared', 5_000);
  const first = await open();
  const before = readdirSync('/proc/self/fd').length;
  const openCount = () => readdirSync('/proc/self/fd').length - before;
  const objects = Array.from({ length: 600 }, (_, i) =>
    first.use(`object-${i}`, 'shared', bytes.length),
  );
  // A lookup gets the places of all segments first, and reads them later.
  for (const object of objects) expect(object.location.byteLength).toBe(bytes.length);
  for (const object of objects) await object.read(0, 1);
  expect(openCount()).toBeLessThan(300);
  await first.close();
  expect(openCount()).toBeLessThan(20);
  // All objects but one have to be evicted.
  const second = await open(4_096);
  for (let i = 0; i < 600; i++) await second.use(`object-${i}`, 'shared', 5_000).read(0, 1);
  expect(second.counters.evictions).toBeGreaterThan(1_000);
  expect(openCount()).toBeLessThan(300);
  await second.close();
});

test('behavior: a thread that sees the number of a new file sees none of the evicted ranges', () => {
  const presence = Presence.create(megabyte);
  const range = { start: 0, end: 8_192 };
  presence.startFile(1);
  presence.add(range);
  const covered: boolean[] = [];
  const { store: write } = Atomics;
  const observed = vi.spyOn(Atomics, 'store').mockImplementation((array, index, value) => {
    if (typeof value === 'bigint') covered.push(presence.covers(range));
    return write(array as never, index, value as never);
  });
  presence.startFile(2);
  observed.mockRestore();
  expect(covered).toEqual([false]);
  expect(presence.fileNumber).toBe(2);
});

test('behavior: an object that is removed while a range is being written does not write to another file', async () => {
  const bytes = await put('a');
  const cache = await open();
  const object = cache.use('a', 'a', bytes.length);
  await object.read(500_000, 1);
  const path = join(folder, 'other');
  // The write waits until a thread of the runtime is free.
  const busy = Array.from({ length: 4 }, () => promisify(pbkdf2)('a', 'b', 400_000, 64, 'sha512'));
  const fetched = object.fetch([{ start: 0, end: 8_192 }]);
  while (cache.counters.requests === 1) await nextTurn();
  cache.remove('a');
  const other = openSync(path, 'w+');
  await Promise.all(busy);
  await fetched;
  expect(await object.read(0, 8_192)).toEqual(bytes.slice(0, 8_192));
  expect(readFileSync(path)).toHaveLength(0);
  closeSync(other);
  await cache.close();
  expect(dataFiles().filter((name) => name !== path)).toHaveLength(1);
});
