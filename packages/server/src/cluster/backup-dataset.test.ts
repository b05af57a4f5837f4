import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Dataset } from '../dataset/dataset.ts';
import { createDataset } from '../dataset/stored/create-dataset.ts';
import { mergeInProcess } from '../dataset/testing/merge-in-process.ts';
import { FolderStore } from '../object-store/folder-store.ts';
import type { ObjectStore } from '../object-store/object-store.ts';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import type { Fs } from '../storage/fs.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { backupDataset, verifyBackup } from './backup-dataset.ts';
import { type Bucket, openBucket } from './bucket.ts';
import { writeFolderOwner } from './folder-owner.ts';
import { copyToFolder, pullDataset } from './pull-dataset.ts';
import { datasetName, readAll, refAt, runOf } from './testing/member.ts';

const folder = `data/${datasetName}`;
const { signal } = new AbortController();
let cacheFolder: string;
const closers: (() => Promise<void>)[] = [];

beforeEach(() => {
  cacheFolder = mkdtempSync(join(tmpdir(), 'sluice-backup-'));
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  rmSync(cacheFolder, { recursive: true });
});

async function bucketOf(store: ObjectStore): Promise<Bucket> {
  const options = { dataset: datasetName, cacheFolder, cacheBytesMax: 1 << 26, requestCountMax: 4 };
  const bucket = await openBucket(options, { store, clock: systemClock, fs: nodeFs });
  closers.push(() => bucket.cache.close());
  return bucket;
}

/** Opens the dataset of a folder. With `mergeCount` 2, segments are merged soon. */
async function openIn(fs: Fs, at = folder, mergeCount = 100): Promise<Dataset> {
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  const limits = { sealBlockCount: 4, mergeBytes: 15_000, mergeCount };
  const dataset = await Dataset.open({ folder: at, realTime: true, limits }, dependencies);
  closers.push(() => dataset.close());
  return dataset;
}

async function createIn(fs: Fs, at = folder): Promise<Dataset> {
  const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
  await createDataset(at, { name: datasetName, aliases: [], votes: 'drop', ...rest }, { fs });
  return openIn(fs, at);
}

async function grow(dataset: Dataset, last: number, branch = 0, first = 10): Promise<void> {
  const head = dataset.snapshot().head?.number;
  if (head === undefined)
    await dataset.commit([{ kind: 'create', anchor: refAt(first - 1, branch) }]);
  await dataset.commit([{ kind: 'extend', blocks: runOf((head ?? first - 1) + 1, last, branch) }]);
  await dataset.commit([{ kind: 'finalize', block: refAt(last - 1, branch) }]);
  while (await dataset.seal());
}

function copying(fs: Fs) {
  const onPart = vi.fn<(blockCount: number, byteLength: number) => void>();
  return { fs, merge: mergeInProcess, onPart, signal };
}

const putsOf = (store: MemoryStore, name: string) =>
  store.calls.filter((call) => call.startsWith('put') && call.includes(`/${name}/`));

async function restored(bucket: Bucket): Promise<Dataset> {
  const target = mkdtempSync(join(cacheFolder, 'restored-'));
  await pullDataset(`${target}/ledger`, bucket, copying(nodeFs));
  return openIn(nodeFs, `${target}/ledger`);
}

test('default: a backup of a dataset in use has all finalized blocks, and a further one sends only new files', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 31);
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  const first = copying(fs);
  const summary = await backupDataset(folder, bucket, first);
  expect(summary).toMatchObject({ blocks: 21, last: 30, leftBlocks: 1 });
  expect(first.onPart.mock.calls.map(([count]) => count)).toEqual([4, 4, 4, 4, 4, 1]);
  expect(putsOf(store, 'segments')).toHaveLength(6);
  const blocks = (await readAll(dataset)).filter(({ header }) => header.number <= 30);
  expect(await readAll(await restored(bucket))).toEqual(blocks);
  expect(await verifyBackup(bucket, copying(fs))).toEqual({ segments: 6, damages: [] });
  store.calls.length = 0;
  await grow(dataset, 40);
  await backupDataset(folder, bucket, copying(fs));
  // Three segments were sealed since, and one has the finalized blocks of the journal.
  expect(putsOf(store, 'segments')).toHaveLength(3);
  const all = (await readAll(dataset)).filter(({ header }) => header.number <= 39);
  expect(await readAll(await restored(bucket))).toEqual(all);
});

test('behavior: segments that are merged during the backup are replaced, and files of older backups are removed', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 41);
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  await dataset.close();
  let merging: Dataset | undefined;
  store.before = async (operation, key) => {
    if (merging !== undefined || operation !== 'put' || !key.includes('/segments/')) return;
    merging = await openIn(fs, folder, 2);
    await grow(merging, 61);
    await merging.finishUpkeep();
    await merging.collect();
  };
  const { segments } = await backupDataset(folder, bucket, copying(fs));
  const sent = putsOf(store, 'segments');
  expect(new Set(sent).size).toBe(sent.length);
  if (merging === undefined) throw new Error('nothing was merged');
  expect(merging.snapshot().segments.length).toBeLessThan(12);
  const stored = [...store.objects.keys()].filter((key) => key.includes('/segments/'));
  expect(stored).toHaveLength(segments);
  const blocks = (await readAll(merging)).filter(({ header }) => header.number <= 60);
  expect(await readAll(await restored(bucket))).toEqual(blocks);
});

test('behavior: a backup that ends while an earlier one removes old files can be restored', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 21);
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  await backupDataset(folder, bucket, copying(fs));
  await grow(dataset, 41);
  let isOverlapped = false;
  store.before = async (operation) => {
    if (operation !== 'remove' || isOverlapped) return;
    isOverlapped = true;
    await grow(dataset, 61);
    await backupDataset(folder, bucket, copying(fs));
  };
  await backupDataset(folder, bucket, copying(fs));
  expect(isOverlapped).toBe(true);
  const blocks = (await readAll(dataset)).filter(({ header }) => header.number <= 60);
  expect(await readAll(await restored(bucket))).toEqual(blocks);
});

test('error: backup-overlapped: of two backups at the same time, the one that ends last fails and removes nothing', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 21);
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  let isOverlapped = false;
  store.before = async (operation) => {
    if (operation !== 'create' || isOverlapped) return;
    isOverlapped = true;
    await grow(dataset, 41);
    await backupDataset(folder, bucket, copying(fs));
  };
  await expect(backupDataset(folder, bucket, copying(fs))).rejects.toMatchObject({
    code: 'backup-overlapped',
  });
  const blocks = (await readAll(dataset)).filter(({ header }) => header.number <= 40);
  expect(await readAll(await restored(bucket))).toEqual(blocks);
});

test('error: dataset-in-store: the segments of a dataset with an object store are not in its folder', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 21);
  await writeFolderOwner(folder, { kind: 'folder', writer: 'a' }, fs);
  await fs.removeFolder(`${folder}/segments`);
  const bucket = await bucketOf(new MemoryStore());
  await expect(backupDataset(folder, bucket, copying(fs))).rejects.toMatchObject({
    code: 'dataset-in-store',
    detail: { dataset: datasetName },
  });
});

test('error: dataset-folder-used: a restore into a folder with other files fails before it copies', async () => {
  const fs = new SimFs();
  await grow(await createIn(fs), 21);
  const bucket = await bucketOf(new MemoryStore());
  await backupDataset(folder, bucket, copying(fs));
  const target = join(cacheFolder, 'ledger');
  mkdirSync(target);
  writeFileSync(join(target, 'note.txt'), '');
  const pulling = copying(nodeFs);
  await expect(pullDataset(target, bucket, pulling)).rejects.toMatchObject({
    code: 'dataset-folder-used',
  });
  await expect(copyToFolder(folder, target, { ...pulling, fs: nodeFs })).rejects.toMatchObject({
    code: 'dataset-folder-used',
  });
  expect(pulling.onPart).not.toHaveBeenCalled();
});

test('error: an interrupted backup keeps the last one and continues', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 21);
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  await backupDataset(folder, bucket, copying(fs));
  await grow(dataset, 61);
  let count = 0;
  store.before = (operation, key) => {
    if (operation === 'put' && key.includes('/segments/') && ++count === 4) store.isDown = true;
  };
  await expect(backupDataset(folder, bucket, copying(fs))).rejects.toMatchObject({
    code: 'store-unreachable',
  });
  store.isDown = false;
  expect((await bucket.log.readLatest())?.manifest.chain.head).toEqual(refAt(20));
  store.calls.length = 0;
  store.before = () => undefined;
  const { segments } = await backupDataset(folder, bucket, copying(fs));
  expect(putsOf(store, 'segments').length).toBeLessThan(segments - 4);
});

test('error: copy-interrupted: a stopped backup and a stopped restore continue', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 41);
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  const stopping = new AbortController();
  store.before = (operation, key) => {
    if (operation === 'put' && key.includes('/segments/')) stopping.abort();
  };
  const stopped = { ...copying(fs), signal: stopping.signal };
  await expect(backupDataset(folder, bucket, stopped)).rejects.toMatchObject({
    code: 'copy-interrupted',
  });
  store.before = () => undefined;
  await backupDataset(folder, bucket, copying(fs));
  const sent = putsOf(store, 'segments');
  expect(new Set(sent).size).toBe(sent.length);
  const target = join(cacheFolder, 'ledger');
  await expect(
    pullDataset(target, bucket, { ...copying(nodeFs), signal: AbortSignal.abort() }),
  ).rejects.toMatchObject({ code: 'copy-interrupted' });
  await pullDataset(target, bucket, copying(nodeFs));
  const blocks = (await readAll(dataset)).filter(({ header }) => header.number <= 40);
  expect(await readAll(await openIn(nodeFs, target))).toEqual(blocks);
});

test('error: backup-differs: another chain, or an older state, does not replace a backup', async () => {
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  const fs = new SimFs();
  await grow(await createIn(fs), 30);
  await backupDataset(folder, bucket, copying(fs));
  const before = [...store.objects.keys()];
  const differs = { code: 'backup-differs', detail: { slot: 29 } };
  for (const [last, branch] of [
    [40, 1],
    [25, 0],
  ] as const) {
    const other = new SimFs();
    await grow(await createIn(other), last, branch);
    const attempt = backupDataset(folder, bucket, copying(other));
    await expect(attempt).rejects.toMatchObject(differs);
  }
  expect([...store.objects.keys()]).toEqual(before);
});

test('error: backup-differs: a dataset that starts above the backup replaces it only on request', async () => {
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  const fs = new SimFs();
  await grow(await createIn(fs), 30);
  await backupDataset(folder, bucket, copying(fs));
  const later = new SimFs();
  const dataset = await createIn(later);
  await grow(dataset, 60, 0, 50);
  const before = [...store.objects.keys()];
  await expect(backupDataset(folder, bucket, copying(later))).rejects.toMatchObject({
    code: 'backup-differs',
  });
  expect([...store.objects.keys()]).toEqual(before);
  const summary = await backupDataset(folder, bucket, { ...copying(later), replace: true });
  expect(summary).toMatchObject({ blocks: 10, last: 59 });
  expect((await readAll(await restored(bucket))).map(({ header }) => header.number)).toEqual(
    Array.from({ length: 10 }, (_, i) => 50 + i),
  );
});

test.each(['manifest.json', 'journal/00000001.journal'])(
  'error: backup-target-used: a target that has the %s of a dataset keeps all of its files',
  async (file) => {
    const fs = new SimFs();
    await grow(await createIn(fs), 30);
    const store = new MemoryStore();
    const keys = [`${datasetName}/${file}`, `${datasetName}/segments/other`];
    for (const key of keys) await store.put(key, new Uint8Array(10));
    const attempt = backupDataset(folder, await bucketOf(store), copying(fs));
    await expect(attempt).rejects.toMatchObject({ code: 'backup-target-used' });
    expect([...store.objects.keys()].sort()).toEqual(keys);
  },
);

test('behavior: what a backup or a restored folder has already counts no bytes', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 31);
  const bucket = await bucketOf(new MemoryStore());
  await backupDataset(folder, bucket, copying(fs));
  const again = copying(fs);
  await backupDataset(folder, bucket, again);
  const [counts, bytes] = [0, 1].map((i) => again.onPart.mock.calls.map((call) => call[i]));
  expect(counts).toEqual([4, 4, 4, 4, 4, 1]);
  expect(bytes).toEqual([0, 0, 0, 0, 0, 0]);
});

test('error: segment-damaged: a damaged segment is neither backed up nor accepted from a backup', async () => {
  const fs = new SimFs();
  const dataset = await createIn(fs);
  await grow(dataset, 30);
  const store = new MemoryStore();
  const bucket = await bucketOf(store);
  await backupDataset(folder, bucket, copying(fs));
  store.distort = (key, bytes) => {
    if (key.includes('/segments/')) bytes[100] = (bytes[100] ?? 0) ^ 1;
    return bytes;
  };
  const damaged = { code: 'segment-damaged' };
  const { damages } = await verifyBackup(bucket, copying(fs));
  const { segments: all } = dataset.snapshot();
  expect(damages.map(({ file }) => file).slice(0, all.length)).toEqual(
    all.map(({ id }) => `segments/${id}`),
  );
  await expect(restored(bucket)).rejects.toMatchObject(damaged);
  const [segment] = dataset.snapshot().segments;
  const path = `${folder}/segments/${segment?.id}`;
  const file = await fs.openFile(path, 'write');
  await file.write(100, [new Uint8Array([1, 2, 3])]);
  await file.close();
  const other = await bucketOf(new MemoryStore());
  await expect(backupDataset(folder, other, copying(fs))).rejects.toMatchObject(damaged);
});

test('behavior: a folder holds a backup like a bucket, and a dataset is copied to another folder', async () => {
  const source = join(cacheFolder, 'data', datasetName);
  const dataset = await createIn(nodeFs, source);
  await grow(dataset, 30);
  const target = join(cacheFolder, 'disk');
  const bucket = await bucketOf(new FolderStore(target, nodeFs));
  await backupDataset(source, bucket, copying(nodeFs));
  // A backup that was killed leaves a part of its manifest.
  writeFileSync(join(target, datasetName, 'manifests', '000000000002.json.gz.tmp'), 'part');
  await grow(dataset, 50);
  const { segments } = await backupDataset(source, bucket, copying(nodeFs));
  expect(readdirSync(join(target, datasetName, 'segments'))).toHaveLength(segments);
  expect(await bucket.log.listNumbers()).toHaveLength(1);
  const blocks = (await readAll(dataset)).filter(({ header }) => header.number <= 49);
  expect(await readAll(await restored(bucket))).toEqual(blocks);
  const copy = join(cacheFolder, 'copy', datasetName);
  await copyToFolder(source, copy, copying(nodeFs));
  expect(await readAll(await openIn(nodeFs, copy))).toEqual(blocks);
  const again = copyToFolder(source, copy, copying(nodeFs));
  await expect(again).rejects.toMatchObject({ code: 'dataset-exists' });
});

test('error: backup-damaged: a name in a backup that is a path does not write outside the new folder', async () => {
  const fs = new SimFs();
  await grow(await createIn(fs), 30);
  const bucket = await bucketOf(new MemoryStore());
  await backupDataset(folder, bucket, copying(fs));
  const latest = await bucket.log.readLatest();
  if (latest === undefined) throw new Error('there is no backup');
  const { manifest, number } = latest;
  const segments = manifest.chain.segments.map((segment, i) => {
    return i === 0 ? { ...segment, id: `../../${segment.id}` } : segment;
  });
  for (const { id } of segments.slice(0, 1)) {
    const { id: original } = manifest.chain.segments[0] ?? { id };
    const bytes = await bucket.store.get(`${datasetName}/segments/${original}`);
    await bucket.store.put(`${datasetName}/segments/${id}`, bytes);
  }
  await bucket.log.create({
    ...manifest,
    number: number + 1,
    chain: { ...manifest.chain, segments },
  });
  await expect(restored(bucket)).rejects.toMatchObject({ code: 'backup-damaged' });
});
