import { CodedError } from '@sluice/base/errors';
import { beforeEach, expect, test } from 'vitest';
import { makeRun } from '../chain/testing/chain-fixtures.ts';
import type { SimFs } from '../storage/testing/sim-fs.ts';
import {
  checkJournalExists,
  hasBlocks,
  listIfExists,
  removeUnlistedSegments,
} from './dataset-files.ts';
import { buildList } from './list-files.ts';
import type { BuiltSegment } from './merge/built-segment.ts';
import { describeBuilt, describeSegment, SegmentStore } from './segment-store.ts';
import { makeEmptyDisk, touch } from './testing/empty-disk.ts';

let fs: SimFs;
beforeEach(async () => {
  fs = await makeEmptyDisk();
});

test('default: a folder has blocks if it has a journal or a segment', async () => {
  expect(await hasBlocks('data', fs)).toBe(false);
  await touch(fs, 'data/segments/notes.txt');
  await touch(fs, 'data/journal/notes.txt');
  expect(await hasBlocks('data', fs)).toBe(false);
  await checkJournalExists('data', fs);
  await touch(fs, 'data/segments/1.segment');
  expect(await hasBlocks('data', fs)).toBe(true);
});

test('error: journal-missing for segments without a journal', async () => {
  await touch(fs, 'data/segments/1.segment');
  await touch(fs, 'data/segments/2.segment');
  await expect(checkJournalExists('data', fs)).rejects.toMatchObject({
    code: 'journal-missing',
    detail: { segments: 2 },
  });
});

test('behavior: a missing folder has no names, and other failures are reported', async () => {
  expect(await listIfExists('nowhere', fs)).toEqual([]);
  const missing = {
    list: () => Promise.reject(new CodedError('storage-missing')),
  } as unknown as SimFs;
  expect(await listIfExists('nowhere', missing)).toEqual([]);
  const failing = { list: () => Promise.reject(new TypeError('a bug')) } as unknown as SimFs;
  await expect(listIfExists('data', failing)).rejects.toThrow('a bug');
});

const headers = makeRun('a', [5, 7], { number: 4, hash: 'a4', height: 1 }).map(
  ({ header }) => header,
);
const built = {
  parts: [Uint8Array.of(1, 2)],
  hashes: headers.map(({ hash }) => hash),
  byteLength: 2,
  checksum: 0xabc,
} as unknown as BuiltSegment;

test('default: a segment is described by its blocks, and named after slots and checksum', () => {
  const [first, last] = headers as [(typeof headers)[0], (typeof headers)[0]];
  expect(describeBuilt(built, headers)).toMatchObject({
    id: '000000000005-000000000007-00000abc.segment',
    first: { number: 5, hash: first.hash },
    last: { number: 7, hash: last.hash },
    parentSlot: 4,
    parentHash: first.parentHash,
    lastHeight: 3,
    blockCount: 2,
    byteLength: 2,
    timestampMax: last.timestamp,
  });
  const reversed = [
    { ...first, timestamp: 9n },
    { ...last, timestamp: 3n },
  ];
  expect(describeSegment(built, reversed).timestampMax).toBe(9n);
  const timeless = headers.map((header) => ({ ...header, timestamp: null }));
  expect(describeSegment(built, timeless).timestampMax).toBeNull();
});

test('behavior: a merge that lost, added or moved a block is a bug', () => {
  expect(() => describeBuilt(built, headers.slice(0, 1))).toThrow('keeps every block');
  expect(() => describeBuilt(built, [...headers].reverse())).toThrow('keeps the order');
  const [one, two] = headers as [(typeof headers)[0], (typeof headers)[0]];
  const hashes = [one.hash, one.hash];
  expect(() => describeBuilt({ ...built, hashes }, [one, two])).toThrow('keeps the order');
  expect(() => describeSegment(built, [])).toThrow('at least one block');
});

test('default: a segment and a list are files of the folder, and removed files are gone, also unfinished ones', async () => {
  const store = new SegmentStore('data', fs);
  const segment = describeBuilt(built, headers);
  await store.write(segment, [Uint8Array.of(1, 2)]);
  expect([store.path(segment), store.remote()]).toEqual([`data/segments/${segment.id}`, undefined]);
  const content = { kind: 'segments', segments: [segment] } as const;
  const { list, bytes } = buildList({ ...content, depth: 0 });
  await store.writeList(list, bytes);
  expect(await store.readList(list)).toEqual(content);
  await touch(fs, 'data/segments/other.segment.tmp');
  await touch(fs, 'data/segments/notes.txt');
  const removed = [`segments/${segment.id}`, `lists/${list.id}`, 'segments/other.segment'];
  expect(await store.remove(removed)).toEqual(removed);
  expect(await fs.list('data/segments')).toEqual(['notes.txt']);
  expect(await fs.list('data/lists')).toEqual([]);
});

test('error: segment-list-damaged: a changed list is detected', async () => {
  const store = new SegmentStore('data', fs);
  const segments = [describeBuilt(built, headers)];
  const { list, bytes } = buildList({ kind: 'segments', depth: 0, segments });
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
  await store.writeList(list, bytes);
  await expect(store.readList(list)).rejects.toMatchObject({ code: 'segment-list-damaged' });
});

test('behavior: of a dataset of an older format, segments that its journal does not describe are removed', async () => {
  const segment = describeBuilt(built, headers);
  for (const name of ['old.segment', segment.id, 'other.segment.tmp', 'notes.txt'])
    await touch(fs, `data/segments/${name}`);
  await removeUnlistedSegments('data', [segment], fs);
  expect(await fs.list('data/segments')).toEqual([segment.id, 'notes.txt']);
});

test('behavior: the file of a segment is opened to read its headers, and closed even after a failure', async () => {
  const store = new SegmentStore('data', fs);
  const segment = describeBuilt(built, headers);
  await store.write(segment, [Uint8Array.of(1, 2)]);
  const modes: string[] = [];
  const openFile = fs.openFile.bind(fs);
  fs.openFile = (path, mode) => {
    modes.push(mode);
    return openFile(path, mode);
  };
  await expect(store.readHeaders(segment)).rejects.toMatchObject({ code: 'segment-not-one' });
  expect([modes, fs.openFileCount]).toEqual([['read'], 0]);
});

test('behavior: the memory of a stored segment is freed', async () => {
  const store = new SegmentStore('data', fs);
  const part = new Uint8Array(1 << 14);
  await store.write(describeBuilt(built, headers), [part]);
  expect(part.byteLength).toBe(0);
});
