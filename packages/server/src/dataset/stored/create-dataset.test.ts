import { CodedError } from '@sluice/base/errors';
import { beforeEach, expect, test } from 'vitest';
import { applyChanges } from '../../chain/apply-changes.ts';
import { emptySnapshot } from '../../chain/chain-snapshot.ts';
import { hash, makeRun, sealRun, slot } from '../../chain/testing/chain-fixtures.ts';
import type { SimFs } from '../../storage/testing/sim-fs.ts';
import type { Manifest } from '../manifest.ts';
import { makeEmptyDisk, touch } from '../testing/empty-disk.ts';
import { checkFolderNotShared } from './check-folder-not-shared.ts';
import { createDataset, datasetExists } from './create-dataset.ts';
import { dropDataset, removeDropped } from './drop-dataset.ts';
import { findDatasets } from './find-datasets.ts';
import { restoreDataset } from './restore-dataset.ts';
import { readStoredDataset } from './stored-dataset.ts';

const manifest: Manifest = {
  name: 'one',
  aliases: [],
  genesisHash: null,
  votes: 'drop',
  metaOptional: false,
  allowMissing: [],
};

let fs: SimFs;
beforeEach(async () => {
  fs = await makeEmptyDisk();
});

test('default: a dataset is found once it was created', async () => {
  expect(await findDatasets('data', fs)).toEqual([]);
  await createDataset('data/one', manifest, { fs });
  await createDataset('data/two', { ...manifest, name: 'two' }, { fs });
  await fs.makeFolder('data/empty');
  await touch(fs, 'data/Not a name/manifest.json');
  expect(await findDatasets('data', fs)).toEqual(['one', 'two']);
});

test('behavior: the folder of a new dataset is durable in its parent folder', async () => {
  const synced: string[] = [];
  const syncFolder = fs.syncFolder.bind(fs);
  fs.syncFolder = async (path) => {
    synced.push(path);
    if (path !== '/') await syncFolder(path);
  };
  await createDataset('data/one', manifest, { fs });
  expect(synced.at(-1)).toBe('data');
  await createDataset('/one', manifest, { fs });
  expect(synced.at(-1)).toBe('/');
});

test('behavior: a dataset folder without read permission is listed, and another storage error is thrown', async () => {
  await createDataset('data/one', manifest, { fs });
  const list = fs.list.bind(fs);
  let error: Error = new CodedError('storage-forbidden');
  fs.list = async (path) => (path === 'data' ? list(path) : Promise.reject(error));
  expect(await findDatasets('data', fs)).toEqual(['one']);
  error = new CodedError('storage-failed');
  await expect(findDatasets('data', fs)).rejects.toBe(error);
});

test('behavior: a dataset is renamed durably before it is removed', async () => {
  await createDataset('data/one', manifest, { fs });
  const calls: string[] = [];
  fs.rename = async (from, to) => void calls.push(`rename ${from} ${to}`);
  fs.syncFolder = async (path) => void calls.push(`sync ${path}`);
  fs.removeFolder = async (path) => void calls.push(`remove ${path}`);
  await dropDataset({ dataFolder: 'data', name: 'one' }, fs);
  expect(calls).toEqual([
    'rename data/one data/one.dropped',
    'sync data',
    'remove data/one.dropped',
  ]);
});

test('behavior: a dataset that lost its manifest exists, so that nothing overwrites it', async () => {
  expect(await datasetExists('data/one', fs)).toBe(false);
  await touch(fs, 'data/one/notes.txt');
  expect(await datasetExists('data/one', fs)).toBe(false);
  await touch(fs, 'data/one/segments/1.segment');
  expect(await datasetExists('data/one', fs)).toBe(true);
});

test('behavior: only what an interrupted drop left is removed', async () => {
  for (const name of ['one.dropped', 'Not a name.dropped', 'one', 'dropped']) {
    await touch(fs, `data/${name}/manifest.json`);
  }
  await removeDropped('data', fs);
  expect(await fs.list('data')).toEqual(['Not a name.dropped', 'dropped', 'one']);
});

test('error: dataset-folder-shared if datasets are inside of the dataset', async () => {
  await createDataset('data/one', manifest, { fs });
  await createDataset('data/one/two', { ...manifest, name: 'two' }, { fs });
  await expect(dropDataset({ dataFolder: 'data', name: 'one' }, fs)).rejects.toMatchObject({
    code: 'dataset-folder-shared',
    detail: { folder: 'data/one', datasets: 'two' },
  });
  await createDataset('data/one/three', { ...manifest, name: 'three' }, { fs });
  await expect(checkFolderNotShared('data/one', fs)).rejects.toMatchObject({
    detail: { datasets: 'three two' },
  });
  fs.list = () => Promise.reject(new CodedError('storage-missing'));
  await checkFolderNotShared('data/nowhere', fs);
});

test('error: dataset-name-invalid for a name that is not one', async () => {
  const creation = createDataset('data/x', { ...manifest, name: 'A b' }, { fs });
  await expect(creation).rejects.toMatchObject({
    code: 'dataset-name-invalid',
    detail: { name: 'A b' },
  });
});

test('behavior: a restored dataset has the chain it was given, and nothing hot', async () => {
  const run = makeRun('a', [10, 11], { number: 9, hash: 'a9', height: 1 });
  const chain = applyChanges(emptySnapshot, [
    { kind: 'create', anchor: { number: slot(9), hash: hash('a9') } },
    { kind: 'append-sealed', segments: [{ ...sealRun(run), byteLength: 70 }] },
  ]);
  await restoreDataset('data/one', { manifest, chain }, { fs });
  const stored = await readStoredDataset('data/one', fs);
  expect(stored.snapshot).toMatchObject({ start: 10, head: chain.head, segments: chain.segments });
  expect([stored.manifest, stored.blockCount]).toEqual([manifest, 2]);
  expect(stored.byteLength).toBeGreaterThan(70);
  expect(fs.openFileCount).toBe(0);
  const hot = { ...chain, hot: run };
  await expect(restoreDataset('data/two', { manifest, chain: hot }, { fs })).rejects.toThrow(
    'hot blocks are restored',
  );
});
