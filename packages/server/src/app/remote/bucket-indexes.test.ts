import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBase58 } from '@sluice/base/base58';
import { systemClock } from '@sluice/base/clock';
import { afterAll, afterEach, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { type Bucket, openBucket } from '../../cluster/bucket.ts';
import { collectBucket } from '../../cluster/collect-bucket.ts';
import { ManifestKeeper } from '../../cluster/manifest-keeper.ts';
import { claimFolder } from '../../cluster/own-folder.ts';
import { pullDataset } from '../../cluster/pull-dataset.ts';
import { pushDataset } from '../../cluster/push-dataset.ts';
import { Dataset } from '../../dataset/dataset.ts';
import { makeIndexInThread } from '../../dataset/history/index-thread.ts';
import { createDataset } from '../../dataset/stored/create-dataset.ts';
import { mergeInProcess, toBuiltSegment } from '../../dataset/testing/merge-in-process.ts';
import { EnginePool } from '../../engine/threads/engine-pool.ts';
import { MemoryStore } from '../../object-store/testing/memory-store.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { DatasetSegments } from '../../stream/dataset-segments.ts';
import { EngineEvaluator } from '../../stream/engine-evaluator.ts';
import { DatasetLookups } from '../../stream/lookups/dataset-lookups.ts';
import { SkippingEvaluator } from '../../stream/skipping-evaluator.ts';

const name = 'ledger';
const blocks = simulatedBlocks({ content: { transactionsPerBlock: 2, votes: 0 }, blockCount: 80 });
const data = mkdtempSync(join(tmpdir(), 'sluice-bucket-indexes-'));
const { signal } = new AbortController();
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(data, { recursive: true }));

async function openOf(store: MemoryStore, machine: string): Promise<Bucket> {
  const cacheFolder = join(data, `${machine}-cache`);
  const options = { dataset: name, cacheFolder, cacheBytesMax: 1 << 28, requestCountMax: 4 };
  const bucket = await openBucket(options, { store, clock: systemClock, fs: nodeFs });
  closers.push(() => bucket.cache.close());
  return bucket;
}

async function openDataset(folder: string, bucket?: Bucket): Promise<Dataset> {
  const dataset = await Dataset.open(
    { folder, realTime: false, limits: { mergeBytes: 1 } },
    {
      fs: nodeFs,
      clock: systemClock,
      isLockHeld: () => true,
      merge: mergeInProcess,
      makeIndex: makeIndexInThread,
      ...(bucket === undefined ? {} : { segments: bucket.segments }),
    },
  );
  closers.push(() => dataset.close());
  return dataset;
}

async function createOf(folder: string): Promise<void> {
  const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
  await createDataset(folder, { name, aliases: [], votes: 'drop', ...rest }, { fs: nodeFs });
}

/** Stores each block as a segment, and waits until they are listed and indexed. */
async function fill(dataset: Dataset): Promise<void> {
  const { parentSlot, parentHash } = (blocks[0] as (typeof blocks)[0]).header;
  await dataset.commit([{ kind: 'create', anchor: { number: parentSlot, hash: parentHash } }]);
  for (const [i, block] of blocks.entries()) {
    await dataset.appendSealed(toBuiltSegment(buildSegment([block])), [block.header]);
    if (i % 12 === 0) await dataset.finishUpkeep();
  }
  await dataset.finishUpkeep();
  expect(dataset.status().alarms).toEqual([]);
}

async function writeBucket(machine: string) {
  const store = new MemoryStore();
  const bucket = await openOf(store, machine);
  const folder = join(data, machine);
  const owned = await claimFolder(folder, bucket, { fs: nodeFs, newWriter: () => machine });
  await createOf(folder);
  const dataset = await openDataset(folder, bucket);
  const keeper = new ManifestKeeper(owned, { dataset, log: bucket.log, clock: systemClock });
  await fill(dataset);
  await keeper.advance();
  return { store, bucket, dataset, keeper };
}

/** Opens the dataset on another machine, whose cache is empty. */
async function readBucket(store: MemoryStore, machine: string) {
  const bucket = await openOf(store, machine);
  const folder = join(data, machine);
  await claimFolder(folder, bucket, { fs: nodeFs, newWriter: () => machine });
  const dataset = await openDataset(folder, bucket);
  return { dataset, lookups: lookupsOf(dataset) };
}

function lookupsOf(dataset: Dataset): DatasetLookups {
  const pool = new EnginePool({ threadCount: 1, cacheBytesMax: 1 << 24, readsStore: true });
  closers.push(() => pool.stop());
  const segments = new DatasetSegments({ dataset, pool });
  const evaluator = new SkippingEvaluator({
    dataset,
    evaluator: new EngineEvaluator({ pool, segments }),
  });
  return new DatasetLookups({ dataset, evaluator, segments, pool });
}

const known = blocks[40]?.transactions[0]?.signatures[0] as string;
const bytesOf = (text: string) => decodeBase58(text) as Uint8Array;
const unknown = (fill: number) => new Uint8Array(64).fill(fill);

test('limit: an unknown signature costs at most 10 requests, and a known one is found', async () => {
  const { store } = await writeBucket('writer');
  const { dataset, lookups } = await readBucket(store, 'reader');
  expect(dataset.snapshot().indexes.length).toBeGreaterThan(1);
  for (const fill of [1, 2, 3]) {
    store.calls.length = 0;
    const lookup = lookups.transaction(unknown(fill), signal);
    await expect(lookup).rejects.toMatchObject({ code: 'transaction-unknown' });
    const requests = store.calls.filter((call) => call.startsWith('get'));
    expect(requests.length).toBeLessThanOrEqual(10);
  }
  expect((await lookups.transaction(bytesOf(known), signal)).value).toContain(known);
});

test('behavior: wrong bytes of an index are fetched again, and an index that is missing or cannot be reached only costs time', async () => {
  const { store } = await writeBucket('damaging');
  const { dataset, lookups } = await readBucket(store, 'damaged');
  let isWrong = true;
  store.distort = (key, bytes) => {
    if (isWrong && key.includes('/indexes/')) bytes.fill(7, 64);
    return bytes;
  };
  const [run] = dataset.snapshot().indexes;
  if (run === undefined) throw new Error('there is no index');
  store.isDown = true;
  expect(await dataset.findSlots(run, 1)).toBeUndefined();
  // Nothing would clear an alarm here, because a reader has no upkeep.
  expect(dataset.status().alarms).toEqual([]);
  store.isDown = false;
  expect(await dataset.findSlots(run, 1)).toBeUndefined();
  expect(dataset.status().alarms).toMatchObject([{ code: 'dataset-upkeep-failed' }]);
  isWrong = false;
  expect(await dataset.findSlots(run, 1)).toEqual([]);
  for (const key of store.objects.keys()) if (key.includes('/indexes/')) store.objects.delete(key);
  expect((await lookups.transaction(bytesOf(known), signal)).value).toContain(known);
});

test('behavior: replaced indexes are removed from the bucket', async () => {
  const { store, bucket, dataset } = await writeBucket('collecting');
  const stored = () => [...store.objects.keys()].filter((key) => key.includes('/indexes/'));
  expect(stored().length).toBeGreaterThan(dataset.snapshot().indexes.length);
  const nowUnixMs = store.unixMs + 10 * 3_600_000;
  await collectBucket(
    name,
    { store, log: bucket.log, clock: systemClock, nowUnixMs, unusedFiles: dataset.unusedFiles },
    { graceMs: 1, manifestCountMin: 1, collectMsMax: 60_000 },
  );
  expect(stored()).toEqual(dataset.snapshot().indexes.map(({ id }) => `${name}/indexes/${id}.0`));
});

test('behavior: a pushed dataset has its indexes in the bucket, and a pulled one in its folder', async () => {
  const store = new MemoryStore();
  const bucket = await openOf(store, 'pushing');
  const folder = join(data, 'pushed');
  await createOf(folder);
  const local = await openDataset(folder);
  await fill(local);
  const { indexes } = local.snapshot();
  await local.close();
  const transfer = { fs: nodeFs, merge: mergeInProcess, newWriter: () => 'pushed', signal };
  await pushDataset(folder, bucket, { ...transfer, onPart: () => undefined });
  const { dataset, lookups } = await readBucket(store, 'pushed-reader');
  expect(dataset.snapshot().indexes).toEqual(indexes);
  expect((await lookups.transaction(bytesOf(known), signal)).value).toContain(known);
  const pulled = join(data, 'pulled');
  await pullDataset(pulled, bucket, { ...transfer, onPart: () => undefined });
  const again = await openDataset(pulled);
  expect(again.snapshot().indexes).toEqual(indexes);
  expect((await lookupsOf(again).transaction(bytesOf(known), signal)).value).toContain(known);
  expect(again.status().alarms).toEqual([]);
});
