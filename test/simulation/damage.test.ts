/** Flips bits and truncates every kind of stored file: the damage is found and named, the rest is served, and a repair brings everything back. */
import { crc32 } from 'node:zlib';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import { beforeAll, expect, test } from 'vitest';
import { ManualClock } from '../../packages/base/src/testing/manual-clock.ts';
import { bucketSource } from '../../packages/server/src/app/repair-sources.ts';
import { segmentsFrom } from '../../packages/server/src/chain/segment-lists.ts';
import { backupDataset, verifyBackup } from '../../packages/server/src/cluster/backup-dataset.ts';
import { type Bucket, openBucket } from '../../packages/server/src/cluster/bucket.ts';
import { pullDataset } from '../../packages/server/src/cluster/pull-dataset.ts';
import { Dataset } from '../../packages/server/src/dataset/dataset.ts';
import { createDataset } from '../../packages/server/src/dataset/stored/create-dataset.ts';
import {
  type RepairSource,
  repairDataset,
} from '../../packages/server/src/dataset/stored/repair-dataset.ts';
import { verifyDataset } from '../../packages/server/src/dataset/stored/verify-dataset.ts';
import { mergeInProcess } from '../../packages/server/src/dataset/testing/merge-in-process.ts';
import { MemoryStore } from '../../packages/server/src/object-store/testing/memory-store.ts';
import { openSegment, verifySegment } from '../../packages/server/src/segment/read/open-segment.ts';
import { SimFs } from '../../packages/server/src/storage/testing/sim-fs.ts';
import { Ledger } from './ledger.ts';
import { startProcess } from './mortal-process.ts';

const folder = 'data/ledger';
const { signal } = new AbortController();
const onPart = () => undefined;
const limits = { journalFileBytesMax: 16_384, sealBlockCount: 1, mergeBytes: 1 };
const ledger = new Ledger(Random.fromSeed(3));
let intact: SimFs;
let bucket: Bucket;
let store: MemoryStore;

const makeIndexOn = (disk: SimFs) =>
  startProcess({ disk, store: new MemoryStore() }, Number.POSITIVE_INFINITY).makeIndex;

function open(fs: SimFs): Promise<Dataset> {
  const parts = { fs, clock: new ManualClock(), isLockHeld: () => true, merge: mergeInProcess };
  return Dataset.open({ folder, realTime: true, limits }, { ...parts, makeIndex: makeIndexOn(fs) });
}

/** Makes a dataset with a list, segments outside of it, an index, and hot blocks in two journal files; and a backup of it. */
beforeAll(async () => {
  for (let i = 0; i < 150; i++) ledger.produce(0);
  const fs = new SimFs();
  const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
  await createDataset(folder, { name: 'ledger', aliases: [], votes: 'drop', ...rest }, { fs });
  const dataset = await open(fs);
  await dataset.commit([{ kind: 'create', anchor: null }]);
  const extend = (first: number, end: number) => {
    const blocks = ledger.chain.slice(first, end);
    const added = blocks.map((one) => ({ header: one.header, bytes: one.segmentBytes() }));
    return dataset.commit([{ kind: 'extend', blocks: added }]);
  };
  await extend(0, 140);
  const { number, hash } = ledger.chain[135]?.header ?? expect.unreachable();
  await dataset.commit([{ kind: 'finalize', block: { number, hash } }]);
  while (await dataset.seal());
  await dataset.finishUpkeep();
  await extend(140, 150);
  await dataset.collect();
  const { lists, segments, indexes, hot } = dataset.snapshot();
  expect([lists.length, hot.length]).toEqual([1, 14]);
  expect(indexes.length).toBeGreaterThan(0);
  expect(segments.length).toBeGreaterThan(60);
  await dataset.close();
  intact = fs;
  store = new MemoryStore();
  bucket = await openBucketOf(store);
  await backupDataset(folder, bucket, copying(fs));
});

const copying = (fs: SimFs) => ({ fs, merge: mergeInProcess, onPart, signal });

function openBucketOf(objects: MemoryStore): Promise<Bucket> {
  const limits = { cacheFolder: 'cache', cacheBytesMax: 1 << 20, requestCountMax: 2 };
  return openBucket(
    { dataset: 'ledger', ...limits },
    { store: objects, fs: new SimFs(), clock: new ManualClock() },
  );
}

const verify = (fs: SimFs) => verifyDataset({ folder }, fs, signal);

/** A node that has all blocks. */
const node: RepairSource = {
  readFile: async () => {
    throw new CodedError('repair-source-missing');
  },
  loadBlocks: async (first, last) =>
    ledger.chain
      .filter(({ slot }) => slot >= first && slot <= last)
      .map((block) => block.segmentBytes()),
};

/** Returns copies of the disk with one file damaged: bits flipped along the file, and the file cut off. */
function* damagedCopies(path: string, count: number) {
  const { length } = intact.readRaw(path);
  for (let i = 0; i < count; i++) {
    const at = Math.floor((i * (length - 1)) / (count - 1));
    const flipped = intact.copy();
    flipped.flipBit(path, at * 8 + (i % 8));
    yield { fs: flipped, how: `bit ${i % 8} of byte ${at} of ${path}` };
    const cut = intact.copy();
    cut.writeRaw(path, intact.readRaw(path).subarray(0, at));
    yield { fs: cut, how: `${path} cut at byte ${at}` };
  }
}

/** Reads every segment and hot block, and returns the number of those that cannot be read. */
async function countUnreadable(fs: SimFs): Promise<number> {
  const dataset = await open(fs);
  let count = 0;
  const attempt = async (read: () => Promise<unknown>) => {
    try {
      await read();
    } catch (error) {
      if (!isCodedError(error)) throw error;
      count++;
    }
  };
  const { hot } = dataset.snapshot();
  await attempt(async () => {
    for await (const segment of segmentsFrom(dataset.snapshot(), 0, dataset.readList))
      await attempt(async () => {
        const [fault] = verifySegment(openSegment(await dataset.readSegment(segment)));
        if (fault !== undefined) throw fault;
      });
  });
  for (const block of hot) await attempt(() => dataset.readHotBlock(block));
  await dataset.close();
  return count;
}

async function repair(fs: SimFs, sources: readonly RepairSource[]): Promise<void> {
  const failures: unknown[] = [];
  const left = await repairDataset(
    { folder, onRepaired: (file, failure) => failure && failures.push([file, failure]) },
    {
      fs,
      isLockHeld: () => true,
      merge: mergeInProcess,
      makeIndex: makeIndexOn(fs),
      sources,
      signal,
    },
  );
  expect([failures, left]).toEqual([[], []]);
}

const pathsOf = (part: string) =>
  intact.paths().filter((path) => path.startsWith(`${folder}/${part}`));

test('behavior: I-76 F-22 damage of a segment, a list or an index is named, the rest is served, and a backup repairs it', async () => {
  const backup = await bucketSource(bucket);
  const files = [
    pathsOf('segments/')[3],
    pathsOf('segments/').at(-2),
    ...pathsOf('lists/'),
    pathsOf('indexes/')[0],
  ];
  expect(files).toHaveLength(4);
  for (const path of files) {
    if (path === undefined) expect.unreachable();
    for (const { fs, how } of damagedCopies(path, 6)) {
      const damages = await verify(fs);
      const names = new Set(damages.map(({ file }) => `${folder}/${file}`));
      expect([...names], how).toEqual([path]);
      // A damaged index excludes nothing, and the other files are served.
      expect(await countUnreadable(fs), how).toBe(path.includes('/indexes/') ? 0 : 1);
      await repair(fs, [backup]);
      expect(await countUnreadable(fs), how).toBe(0);
    }
  }
});

test('behavior: damage of a segment or an index is found in a backup and sent again, and never copied either way', async () => {
  const [segment = '', index = ''] = [pathsOf('segments/')[3], pathsOf('indexes/')[0]];
  for (const path of [segment, index]) {
    const file = path.slice(folder.length + 1);
    const [key = ''] = [...store.objects.keys()].filter((one) => one.includes(`/${file}`));
    for (const { fs, how } of damagedCopies(path, 6)) {
      const empty = await openBucketOf(new MemoryStore());
      await expect(backupDataset(folder, empty, copying(fs)), how).rejects.toSatisfy((error) =>
        isCodedError(error, 'segment-damaged'),
      );
      store.distort = (read, bytes) => (read === key ? fs.readRaw(path) : bytes);
      const { damages } = await verifyBackup(bucket, copying(fs));
      expect(
        damages.map((damage) => damage.file),
        how,
      ).toEqual([file]);
      const pulled = pullDataset('restored/ledger', bucket, copying(new SimFs()));
      await expect(pulled, how).rejects.toMatchObject({ code: 'segment-damaged' });
      store.distort = (_key, bytes) => bytes;
      store.calls.length = 0;
      await damages[0]?.remove();
      await backupDataset(folder, bucket, copying(intact));
      const sent = store.calls.filter((call) => /^put .*\/(segments|indexes)\//.test(call));
      expect(sent, how).toEqual([`put ${key}`]);
      expect((await verifyBackup(bucket, copying(intact))).damages, how).toEqual([]);
    }
  }
});

test('behavior: I-76 a node repairs damaged segments and hot blocks', async () => {
  const fs = intact.copy();
  const [segment = '', other = ''] = pathsOf('segments/');
  fs.flipBit(segment, 8 * 200);
  await fs.remove(other);
  const [journal = ''] = pathsOf('journal/');
  fs.flipBit(journal, 8 * (fs.readRaw(journal).length - 1));
  const files = (await verify(fs)).map(({ file }) => file);
  expect(files).toHaveLength(3);
  expect(files[2]).toMatch(/^journal, slot \d+$/);
  await repair(fs, [node]);
  expect(await countUnreadable(fs)).toBe(0);
  expect(Buffer.compare(fs.readRaw(segment), intact.readRaw(segment))).toBe(0);
});

test('behavior: a source with other blocks, or without the part, repairs nothing and changes nothing', async () => {
  const fs = intact.copy();
  const [segment = ''] = pathsOf('segments/');
  fs.flipBit(segment, 8 * 200);
  const before = fs.readRaw(segment);
  const wrong: RepairSource = {
    ...node,
    loadBlocks: (first) => node.loadBlocks(first, ledger.head.header.number),
  };
  const found: string[] = [];
  const left = await repairDataset(
    { folder, onRepaired: (file, failure) => found.push(`${file} ${failure?.code}`) },
    {
      fs,
      isLockHeld: () => true,
      merge: mergeInProcess,
      makeIndex: makeIndexOn(fs),
      sources: [wrong],
      signal,
    },
  );
  expect(left).toHaveLength(1);
  expect(found).toEqual([`${segment.slice(folder.length + 1)} repair-source-differs`]);
  expect(Buffer.compare(fs.readRaw(segment), before)).toBe(0);
});

test('behavior: I-75 F-22 a damaged manifest or journal is named, and the dataset is refused and not changed', async () => {
  const newest = pathsOf('journal/').at(-1) ?? expect.unreachable();
  for (const [path, name] of [
    [`${folder}/manifest.json`, 'manifest.json'],
    [newest, 'journal'],
  ] as const) {
    const fs = intact.copy();
    fs.flipBit(path, 8 * 20);
    expect((await verify(fs)).map(({ file }) => file)).toEqual([name]);
    const content = () => fs.paths().map((one) => crc32(fs.readRaw(one)));
    const before = content();
    await expect(open(fs)).rejects.toSatisfy((error) => isCodedError(error));
    expect(content()).toEqual(before);
  }
});
