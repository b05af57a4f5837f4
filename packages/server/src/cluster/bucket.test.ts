import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, systemClock } from '@sluice/base/clock';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Dataset } from '../dataset/dataset.ts';
import { createDataset, datasetExists } from '../dataset/stored/create-dataset.ts';
import { mergeInProcess } from '../dataset/testing/merge-in-process.ts';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { type Bucket, openBucket } from './bucket.ts';
import { COLLECT_LIMITS, collectBucket } from './collect-bucket.ts';
import { ManifestKeeper } from './manifest-keeper.ts';
import { claimFolder } from './own-folder.ts';
import { pushDataset } from './push-dataset.ts';
import { datasetName, readAll, refAt, runOf } from './testing/member.ts';
import { DamageWatch } from './watch-damage.ts';

const folder = `data/${datasetName}`;
const hour = 3_600_000;
let cacheFolder: string;
let store: MemoryStore;
let bucket: Bucket;
/** The dataset that was opened last. */
let opened: Dataset | undefined;

beforeEach(async () => {
  cacheFolder = mkdtempSync(join(tmpdir(), 'sluice-bucket-'));
  store = new MemoryStore();
  const options = { dataset: datasetName, cacheFolder, cacheBytesMax: 1 << 30, requestCountMax: 4 };
  bucket = await openBucket(options, { store, clock: systemClock, fs: nodeFs });
});
afterEach(async () => {
  await bucket.cache.close();
  rmSync(cacheFolder, { recursive: true });
});

async function open(fs: SimFs, writer = 'first') {
  const owned = await claimFolder(folder, bucket, { fs, newWriter: () => writer });
  const damage = new DamageWatch(bucket.segments);
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  if (!(await datasetExists(folder, fs))) {
    const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
    await createDataset(
      folder,
      { name: datasetName, aliases: [], votes: 'drop', ...rest },
      dependencies,
    );
  }
  const dataset = await Dataset.open(
    { folder, realTime: true, limits: { sealBlockCount: 4 } },
    { ...dependencies, segments: bucket.segments, onDamage: (one) => damage.report(one) },
  );
  opened = dataset;
  const keeper = new ManifestKeeper(owned, { dataset, log: bucket.log, clock: systemClock });
  return { dataset, keeper, damage, owned };
}

async function grow(dataset: Dataset, last: number): Promise<void> {
  const head = dataset.snapshot().head?.number;
  if (head === undefined) await dataset.commit([{ kind: 'create', anchor: refAt(9) }]);
  await dataset.commit([{ kind: 'extend', blocks: runOf((head ?? 9) + 1, last) }]);
  await dataset.commit([{ kind: 'finalize', block: refAt(last) }]);
  while (await dataset.seal());
}

test('default: a machine that lost its disk continues from the newest manifest', async () => {
  const { dataset, keeper } = await open(new SimFs());
  await grow(dataset, 20);
  await keeper.advance();
  const sealed = (await readAll(dataset)).filter(({ header }) => header.number <= 17);
  await dataset.close();
  const again = await open(new SimFs(), 'second');
  expect(again.dataset.snapshot()).toMatchObject({
    start: 10,
    head: refAt(17),
    finalized: refAt(17),
  });
  expect(await readAll(again.dataset)).toEqual(sealed);
  await grow(again.dataset, 25);
  await again.keeper.advance();
  // The first folder, if it still ran, could no longer advance the manifest.
  await dataset.close();
  await expect(keeper.advance()).resolves.toBeUndefined();
  expect((await bucket.log.readLatest())?.manifest.writer).toBe('second');
});

test('behavior: a machine that took over and was killed immediately continues with its folder', async () => {
  const one = await open(new SimFs(), 'one');
  await grow(one.dataset, 20);
  await one.keeper.advance();
  const fs = new SimFs();
  await (await open(fs, 'two')).dataset.close();
  const again = await open(fs, 'three');
  expect(again.owned.writer).toBe('two');
  expect(again.dataset.snapshot().head).toEqual(refAt(17));
  await grow(one.dataset, 30);
  await expect(one.keeper.advance()).rejects.toMatchObject({ code: 'store-fenced' });
});

test('behavior: a push uploads several segments at the same time, and all of them', async () => {
  const fs = new SimFs();
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
  const manifest = { name: datasetName, aliases: [], votes: 'drop', ...rest } as const;
  await createDataset(folder, manifest, dependencies);
  const limits = { sealBlockCount: 4 };
  const dataset = await Dataset.open({ folder, realTime: true, limits }, dependencies);
  await grow(dataset, 40);
  await dataset.close();
  let [running, most] = [0, 0];
  store.before = async (operation, key) => {
    if (operation !== 'put' || !key.includes('/segments/')) return;
    most = Math.max(most, ++running);
    await nextTurn();
    running--;
  };
  const [newWriter, onPart] = [() => 'one', vi.fn()];
  const { signal } = new AbortController();
  await pushDataset(folder, bucket, { ...dependencies, newWriter, onPart, signal });
  expect([most, onPart.mock.calls.length]).toEqual([4, 8]);
  expect((await open(new SimFs(), 'two')).dataset.snapshot().head).toEqual(refAt(40));
});

test('error: store-fenced: of two writers of the same manifest one stops', async () => {
  const one = await open(new SimFs(), 'one');
  await grow(one.dataset, 20);
  await one.keeper.advance();
  const two = await open(new SimFs(), 'two');
  await grow(two.dataset, 25);
  await two.keeper.advance();
  await grow(one.dataset, 30);
  await expect(one.keeper.advance()).rejects.toMatchObject({ code: 'store-fenced' });
  expect((await bucket.log.readLatest())?.manifest.writer).toBe('two');
});

test('error: store-owned: a folder whose bucket another folder has taken over is refused', async () => {
  const fs = new SimFs();
  const one = await open(fs, 'one');
  await grow(one.dataset, 20);
  await one.keeper.advance();
  await one.dataset.close();
  const two = await open(new SimFs(), 'two');
  await grow(two.dataset, 25);
  await two.keeper.advance();
  await expect(open(fs, 'one')).rejects.toMatchObject({ code: 'store-owned' });
});

test('behavior: a failed upload changes nothing and is repeated', async () => {
  const { dataset, keeper } = await open(new SimFs());
  store.isDown = true;
  await expect(grow(dataset, 20)).rejects.toMatchObject({ code: 'store-unreachable' });
  expect(dataset.snapshot().segments).toEqual([]);
  store.isDown = false;
  while (await dataset.seal());
  await keeper.advance();
  const latest = (await bucket.log.readLatest())?.manifest;
  expect(latest?.chain.segments).toHaveLength(2);
  for (const segment of latest?.chain.segments ?? []) {
    expect(await store.head(bucket.segments.keyOf(segment))).toMatchObject({
      byteLength: segment.byteLength,
    });
  }
});

test('behavior: wrong bytes are detected, the local copy is evicted, and the alarm is cleared when the store is right', async () => {
  const { dataset, damage } = await open(new SimFs());
  await grow(dataset, 20);
  const [segment] = dataset.snapshot().segments;
  if (segment === undefined) throw new Error('no segment');
  bucket.segments.evict(segment);
  store.distort = (_, bytes) => bytes.fill(3);
  await expect(bucket.segments.readHeaders(segment)).rejects.toMatchObject({
    code: expect.stringMatching(/^segment-/),
  });
  dataset.reportDamage(segment, 'wrong bytes');
  expect(dataset.alarms.has('segment-damaged')).toBe(true);
  const stop = new AbortController();
  const watching = damage.run(
    dataset,
    {
      ...systemClock,
      sleep: async () => {
        store.distort = (_, bytes) => bytes;
      },
    },
    stop.signal,
  );
  await vi.waitUntil(() => !dataset.alarms.has('segment-damaged'));
  expect(await bucket.segments.readHeaders(segment)).toHaveLength(4);
  stop.abort();
  await watching;
});

const limits = { ...COLLECT_LIMITS, graceMs: hour, manifestCountMin: 1 };
const collect = (clock: Clock = systemClock) =>
  collectBucket(
    datasetName,
    {
      ...{ store, log: bucket.log, clock, nowUnixMs: store.unixMs },
      unusedFiles: opened?.unusedFiles ?? [],
    },
    limits,
  );
const segmentKeys = () => [...store.objects.keys()].filter((key) => key.includes('/segments/'));

test('behavior: only objects that no recent manifest and no lease needs are removed', async () => {
  const { dataset, keeper } = await open(new SimFs());
  store.unixMs = 100 * hour;
  await grow(dataset, 29);
  await keeper.advance();
  const [first] = dataset.snapshot().segments;
  if (first === undefined) throw new Error('no segment');
  const key = bucket.segments.keyOf(first);
  store.unixMs += hour;
  await store.put(`${datasetName}/leases/reader`, new TextEncoder().encode('{"ageMs":1000}'));
  store.unixMs += 100;
  await dataset.trim({ kind: 'blocks', count: 8 });
  await keeper.advance();
  expect(await collect()).toEqual({ files: [], manifests: 0, objects: 0 });
  // The grace period is over, but the reader has renewed its lease on the older state.
  store.unixMs += 2 * hour;
  const lease = JSON.stringify({ ageMs: 2 * hour + 1_000 });
  await store.put(`${datasetName}/leases/reader`, new TextEncoder().encode(lease));
  await collect();
  expect(await store.head(key)).toBeDefined();
  // The reader has stopped, and its lease expires.
  store.unixMs += hour;
  const { files, manifests } = await collect();
  expect(manifests).toBe(1);
  expect(files).toEqual(dataset.snapshot().unused);
  expect(files).toContain(`segments/${first.id}`);
  expect(await store.head(key)).toBeUndefined();
  await dataset.commit([{ kind: 'forget', files }]);
  expect(dataset.snapshot().unused).toEqual([]);
  expect(await bucket.log.listNumbers()).toEqual([2]);
  for (const segment of dataset.snapshot().segments) {
    expect(await store.head(bucket.segments.keyOf(segment))).toBeDefined();
  }
});

test('limit: without leases, nothing is removed that a manifest of the last hour needs', async () => {
  const { dataset, keeper } = await open(new SimFs());
  store.unixMs = 100 * hour;
  await grow(dataset, 29);
  await keeper.advance();
  const [first] = dataset.snapshot().segments;
  if (first === undefined) throw new Error('no segment');
  store.unixMs += 2 * hour;
  await dataset.trim({ kind: 'blocks', count: 8 });
  await keeper.advance();
  store.unixMs += hour / 2;
  expect(await collect()).toEqual({ files: [], manifests: 0, objects: 0 });
  expect(await store.head(bucket.segments.keyOf(first))).toBeDefined();
  store.unixMs += hour;
  await collect();
  expect(await store.head(bucket.segments.keyOf(first))).toBeUndefined();
});

test('behavior: a file is not removed while it is being written, however long that takes', async () => {
  const { dataset, keeper } = await open(new SimFs());
  store.unixMs = 100 * hour;
  await grow(dataset, 29);
  await dataset.commit([{ kind: 'extend', blocks: runOf(30, 40) }]);
  await dataset.commit([{ kind: 'finalize', block: refAt(40) }]);
  const { promise, resolve } = makeHold();
  // The object is in the store already.
  store.before = (operation, key) =>
    operation === 'head' && key.includes('/segments/') ? promise : undefined;
  const sealing = dataset.seal();
  while (dataset.snapshot().unused.length === 0) await nextTurn();
  const [file] = dataset.snapshot().unused;
  await dataset.trim({ kind: 'blocks', count: 16 });
  await keeper.advance();
  store.unixMs += 3 * hour;
  await keeper.advance();
  expect(dataset.unusedFiles).not.toContain(file);
  await collect();
  expect(store.objects.has(`${datasetName}/${file}`)).toBe(true);
  store.before = () => undefined;
  resolve();
  await sealing;
  // The newest manifest does not refer to the segment yet.
  await collect();
  for (const segment of dataset.snapshot().segments)
    expect(segmentKeys()).toContain(bucket.segments.keyOf(segment));
});

function makeHold(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Writes a manifest every hour for a chain that is trimmed to its last blocks. */
async function growAndTrim(): Promise<void> {
  const { dataset, keeper } = await open(new SimFs());
  store.unixMs = 100 * hour;
  for (let last = 19; last <= 49; last += 10) {
    await grow(dataset, last);
    await dataset.trim({ kind: 'blocks', count: 8 });
    await keeper.advance();
    store.unixMs += hour;
  }
}

test('behavior: a collector that runs beside another one removes nothing that is needed', async () => {
  await growAndTrim();
  let [hasListed, isOvertaken] = [false, false];
  store.before = async (_, key) => {
    // The second collector runs right after the first has listed the manifests.
    if (hasListed && !isOvertaken) {
      isOvertaken = true;
      await collect();
    }
    hasListed ||= key.endsWith('/manifests/');
  };
  await collect();
  const latest = (await bucket.log.readLatest())?.manifest.chain.segments ?? [];
  expect(latest.length).toBeGreaterThan(0);
  for (const segment of latest) expect(segmentKeys()).toContain(bucket.segments.keyOf(segment));
});

test('behavior: nothing is removed long after the listing, because a new manifest may refer to it', async () => {
  await growAndTrim();
  const before = segmentKeys();
  let nowMs = 0;
  const clock = { ...systemClock, nowMs: () => nowMs };
  store.before = (operation) => {
    if (operation === 'list') nowMs += limits.collectMsMax;
  };
  expect(await collect(clock)).toEqual({ files: [], manifests: 0, objects: 0 });
  expect(segmentKeys()).toEqual(before);
  store.before = () => undefined;
  const { objects } = await collect();
  expect(objects).toBeGreaterThan(0);
});

test('behavior: a lease that cannot be parsed protects everything', async () => {
  await growAndTrim();
  await store.put(`${datasetName}/leases/reader`, new TextEncoder().encode('{"ageMs'));
  expect(await collect()).toEqual({ files: [], manifests: 0, objects: 0 });
  await store.remove(`${datasetName}/leases/reader`);
  expect((await collect()).objects).toBeGreaterThan(0);
});

test('behavior: nothing is removed from a bucket without a manifest, because a dataset is being pushed to it', async () => {
  await store.put(`${datasetName}/segments/first`, new Uint8Array(1));
  store.unixMs += 10 * hour;
  expect(await collect()).toEqual({ files: [], manifests: 0, objects: 0 });
});

test('error: store-upload-differs: no manifest refers to a segment whose stored length is wrong', async () => {
  const { dataset } = await open(new SimFs());
  const head = store.head.bind(store);
  store.head = async (key) => {
    const info = await head(key);
    return info === undefined ? undefined : { ...info, byteLength: info.byteLength - 1 };
  };
  await expect(grow(dataset, 20)).rejects.toMatchObject({ code: 'store-upload-differs' });
  expect(dataset.snapshot().segments).toEqual([]);
});

test('behavior: a manifest counts as advanced only when the store has it, so that nothing it replaces is removed before', async () => {
  const { dataset, owned } = await open(new SimFs());
  await grow(dataset, 20);
  const stored: boolean[] = [];
  const keeper = new ManifestKeeper(owned, {
    dataset,
    log: bucket.log,
    clock: systemClock,
    onAdvanced: () => stored.push(store.objects.has(bucket.log.keyOf(keeper.number))),
  });
  store.isDown = true;
  await expect(keeper.advance()).rejects.toMatchObject({ code: 'store-unreachable' });
  expect(stored).toEqual([]);
  store.isDown = false;
  await keeper.advance();
  expect(stored).toEqual([true]);
  await dataset.close();
});
