import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/base/base58';
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { Block, BlockHeader } from '@sluice/ledger/block';
import { type BlockHash, toBlockHash } from '@sluice/ledger/primitives';
import { expect, test, vi } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import { findPreviousBlocks } from '../chain/find-blocks.ts';
import { slot } from '../chain/testing/chain-fixtures.ts';
import { openSegment } from '../segment/read/open-segment.ts';
import { decodeBlocks } from '../segment/testing/decode-blocks.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { readWholeFile } from '../storage/fs.ts';
import { SimFs, SimKilled } from '../storage/testing/sim-fs.ts';
import { Dataset } from './dataset.ts';
import { maintainDataset } from './maintain-dataset.ts';
import { MergeThread } from './merge/merge-thread.ts';
import { chooseTrim, type Retention } from './retention.ts';
import { createDataset, datasetExists } from './stored/create-dataset.ts';
import { decodeHotBlock } from './testing/decode-hot-block.ts';
import { mergeInProcess, toBuiltSegment } from './testing/merge-in-process.ts';

const folder = 'data/ledger';
const limits = { sealBlockCount: 4, journalFileBytesMax: 4_000 };

function hashAt(number: number): BlockHash {
  const bytes = new Uint8Array(32).fill(7);
  new DataView(bytes.buffer).setUint32(4, number + 1);
  return toBlockHash(encodeBase58(bytes));
}

function blockAt(number: number): Block {
  const header: BlockHeader = {
    number: slot(number),
    hash: hashAt(number),
    parentSlot: slot(number - 1),
    parentHash: hashAt(number - 1),
    height: number,
    timestamp: BigInt(1_700_000_000 + number),
  };
  const rows = { transactions: [], instructions: [], logs: [], balances: [], tokenBalances: [] };
  return { header, ...rows, rewards: [] };
}

const run = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => blockAt(first + i));

async function open(fs: SimFs, clock: Clock = new ManualClock()): Promise<Dataset> {
  const dependencies = { fs, clock, isLockHeld: () => true, merge: mergeInProcess };
  if (!(await datasetExists(folder, fs))) {
    const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
    await createDataset(
      folder,
      { name: 'ledger', aliases: [], votes: 'drop', ...rest },
      dependencies,
    );
  }
  return Dataset.open({ folder, realTime: true, limits }, dependencies);
}

async function grow(dataset: Dataset, first: number, last: number): Promise<void> {
  if (dataset.snapshot().start === null) {
    await dataset.commit([
      { kind: 'create', anchor: { number: slot(first - 1), hash: hashAt(first - 1) } },
    ]);
  }
  const blocks = run(first, last).map((block) => ({
    header: block.header,
    bytes: buildSegment([block]),
  }));
  await dataset.commit([{ kind: 'extend', blocks }]);
}

async function readAll(dataset: Dataset): Promise<Block[]> {
  const lease = dataset.acquire();
  const blocks: Block[] = [];
  for (const segment of lease.snapshot.segments) {
    blocks.push(...decodeBlocks(openSegment(await dataset.readSegment(segment))));
  }
  for (const hot of lease.snapshot.hot) blocks.push(await decodeHotBlock(dataset, hot));
  lease.release();
  return blocks;
}

test('default: I-15 finalized blocks are sealed into segments, and reads return the same blocks', async () => {
  const fs = new SimFs();
  const dataset = await open(fs);
  await grow(dataset, 10, 24);
  await dataset.commit([{ kind: 'finalize', block: { number: slot(19), hash: hashAt(19) } }]);
  const before = await readAll(dataset);
  const previous = await findPreviousBlocks(dataset.snapshot(), 22, dataset);
  expect(await dataset.seal()).toBe(true);
  expect(await dataset.seal()).toBe(true);
  expect(await dataset.seal()).toBe(false);
  const snapshot = dataset.snapshot();
  expect(snapshot.segments.map(({ first, last }) => [first.number, last.number])).toEqual([
    [10, 13],
    [14, 17],
  ]);
  expect(snapshot.hot[0]?.header.number).toBe(18);
  expect(await readAll(dataset)).toEqual(before);
  expect(await findPreviousBlocks(snapshot, 22, dataset)).toEqual(previous);
  await dataset.close();
  expect(await readAll(await open(fs))).toEqual(before);
});

test('behavior: merges in a thread run one after another and give the same bytes, even after one that failed', async () => {
  const thread = new MergeThread(new ManualClock());
  const parts = (first: number, last: number) =>
    run(first, last).map((block) => buildSegment([block]));
  const damaged = [...parts(10, 12), new Uint8Array(10)];
  const [one, failed, two] = await Promise.allSettled([
    thread.merge(parts(10, 13)),
    thread.merge(damaged),
    thread.merge(parts(20, 24)),
  ]);
  expect(one).toEqual({ status: 'fulfilled', value: toBuiltSegment(buildSegment(run(10, 13))) });
  expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'segment-merge-failed' } });
  expect(two).toEqual({ status: 'fulfilled', value: toBuiltSegment(buildSegment(run(20, 24))) });
  await thread.close();
});

test('behavior: finalized blocks that arrive in bulk are stored in segments directly', async () => {
  const dataset = await open(new SimFs());
  await dataset.commit([{ kind: 'create', anchor: { number: slot(9), hash: hashAt(9) } }]);
  const blocks = run(10, 15);
  const snapshot = await dataset.appendSealed(
    toBuiltSegment(buildSegment(blocks)),
    blocks.map(({ header }) => header),
  );
  expect(snapshot).toMatchObject({ hot: [], head: { number: 15 }, finalized: { number: 15 } });
  expect(await readAll(dataset)).toEqual(blocks);
});

test('behavior: I-73 a kill at any operation of sealing and trimming loses no block and leaves no unused file', async () => {
  for (let at = 0, finished = false; !finished; at++) {
    const fs = new SimFs();
    const dataset = await open(fs);
    await grow(dataset, 10, 24);
    await dataset.commit([{ kind: 'finalize', block: { number: slot(22), hash: hashAt(22) } }]);
    const before = fs.operationCount;
    fs.fault = ({ index }) => (index === before + at ? 'kill' : undefined);
    try {
      while (await dataset.seal());
      await dataset.trim({ kind: 'blocks', count: 8 });
      await dataset.collect();
      finished = true;
    } catch (error) {
      if (!(error instanceof SimKilled) && !isCodedError(error)) throw error;
    }
    if (at % 2 === 0) fs.restart();
    else fs.powerLoss(() => 0.4);
    const again = await open(fs);
    const stored = await readAll(again);
    expect(stored).toEqual(run(again.snapshot().start as number, 24));
    const files = fs.paths().filter((path) => path.includes('/segments/'));
    expect(files).toEqual(again.snapshot().segments.map((segment) => again.segmentPath(segment)));
  }
});

test('behavior: a dataset of format 2 is upgraded when it is opened: undescribed segments are removed; other files stay', async () => {
  const fs = new SimFs();
  const dataset = await open(fs);
  await grow(dataset, 10, 24);
  await dataset.commit([{ kind: 'finalize', block: { number: slot(22), hash: hashAt(22) } }]);
  while (await dataset.seal());
  await dataset.close();
  const before = fs.paths();
  const segments = `${folder}/segments`;
  for (const name of ['a.segment', 'b.segment.tmp', 'readme.txt']) {
    fs.writeRaw(`${segments}/${name}`, new Uint8Array(1));
  }
  // With the current format no folder is searched for files.
  await (await open(fs)).close();
  expect(fs.paths()).toContain(`${segments}/a.segment`);
  const { checksum: _, ...content } = JSON.parse(await readText(fs, `${folder}/manifest.json`));
  const older = { ...content, formatVersion: 2 };
  const checksum = createHash('sha256').update(JSON.stringify(older)).digest('hex');
  fs.writeRaw(`${folder}/manifest.json`, Buffer.from(JSON.stringify({ ...older, checksum })));
  await (await open(fs)).close();
  expect(fs.paths()).toEqual([...before, `${segments}/readme.txt`].sort());
  const { formatVersion } = JSON.parse(await readText(fs, `${folder}/manifest.json`));
  expect(formatVersion).toBe(3);
});

const readText = async (fs: SimFs, path: string) =>
  Buffer.from(await readWholeFile(fs, path)).toString();

test('behavior: L-18 a leased segment survives a trim and is removed after the release', async () => {
  const fs = new SimFs();
  const dataset = await open(fs);
  await grow(dataset, 10, 24);
  await dataset.commit([{ kind: 'finalize', block: { number: slot(22), hash: hashAt(22) } }]);
  while (await dataset.seal());
  const lease = dataset.acquire();
  const [oldest] = lease.snapshot.segments;
  expect(await dataset.trim({ kind: 'blocks', count: 4 })).toBe(true);
  expect(dataset.snapshot()).toMatchObject({ start: 18, anchor: { number: 17, hash: hashAt(17) } });
  await dataset.collect();
  expect(await dataset.readSegment(oldest as SealedSegment)).toHaveLength(
    oldest?.byteLength as number,
  );
  lease.release();
  await dataset.collect();
  await expect(dataset.readSegment(oldest as SealedSegment)).rejects.toMatchObject({
    code: 'storage-missing',
  });
});

test('behavior: a file that is announced and not referred to yet survives a collection', async () => {
  const fs = new SimFs();
  const dataset = await open(fs);
  await dataset.commit([{ kind: 'create', anchor: { number: slot(9), hash: hashAt(9) } }]);
  const rename = fs.rename.bind(fs);
  let collectionCount = 0;
  // The file is complete, and the commit that refers to it follows.
  vi.spyOn(fs, 'rename').mockImplementation(async (from, to) => {
    await rename(from, to);
    if (!to.includes('/segments/')) return;
    await dataset.collect();
    collectionCount++;
  });
  const blocks = run(10, 15);
  const built = toBuiltSegment(buildSegment(blocks));
  await dataset.appendSealed(
    built,
    blocks.map(({ header }) => header),
  );
  expect(collectionCount).toBe(1);
  expect(await readAll(dataset)).toEqual(blocks);
});

test('behavior: F-20 below the minimum free space old blocks are removed, even if a reader delays it, and then writing resumes', async () => {
  const fs = new SimFs();
  const clock = new ManualClock();
  const dataset = await open(fs, clock);
  await grow(dataset, 10, 26);
  await dataset.commit([{ kind: 'finalize', block: { number: slot(22), hash: hashAt(22) } }]);
  while (await dataset.seal());
  await dataset.commit([{ kind: 'finalize', block: { number: slot(26), hash: hashAt(26) } }]);
  const segmentCount = () => fs.paths().filter((path) => path.includes('/segments/')).length;
  expect(segmentCount()).toBe(3);
  // There is enough space as soon as two segments are removed.
  fs.space = async () => ({ freeBytes: segmentCount() > 1 ? 1e9 : 2e9, totalBytes: 1e12 });
  clock.advance(1_000);
  await expect.poll(() => dataset.seal().catch(({ code }) => code)).toBe('disk-floor-reached');
  const lease = dataset.acquire();
  const stop = new AbortController();
  const running = maintainDataset(
    dataset,
    { retention: { kind: 'blocks', count: 6 }, clock },
    stop.signal,
  );
  await expect.poll(() => dataset.alarms.has('dataset-maintenance-failed')).toBe(true);
  expect([dataset.snapshot().start, segmentCount()]).toEqual([18, 3]);
  lease.release();
  await expect
    .poll(() => {
      clock.advance(2_000);
      return dataset.snapshot().segments.at(-1)?.last.number;
    })
    .toBe(25);
  expect(dataset.alarms.list()).toEqual([]);
  stop.abort();
  await running;
});

test('behavior: a segment that the full disk rejects leaves no file', async () => {
  const fs = new SimFs();
  const dataset = await open(fs);
  await grow(dataset, 10, 24);
  await dataset.commit([{ kind: 'finalize', block: { number: slot(22), hash: hashAt(22) } }]);
  fs.fault = ({ name, path }) =>
    name === 'write' && path.includes('/segments/') ? 'ENOSPC' : undefined;
  await expect(dataset.seal()).rejects.toMatchObject({ code: 'storage-full' });
  expect(fs.paths().filter((path) => path.includes('/segments/'))).toEqual([]);
});

test('behavior: I-98 F-28 a jump of the system clock has no effect on retention, which uses the timestamps of the ledger', async () => {
  const day = 86_400_000;
  const still = new ManualClock();
  const starts: unknown[] = [];
  for (const jumpMs of [0, 3_650 * day, -day]) {
    let unixMs = still.unixMs();
    const clock: Clock = {
      nowMs: () => still.nowMs(),
      sleep: (ms, signal) => still.sleep(ms, signal),
      unixMs: () => unixMs,
    };
    const dataset = await open(new SimFs(), clock);
    await grow(dataset, 1, 40);
    unixMs += jumpMs;
    await dataset.commit([{ kind: 'finalize', block: { number: slot(40), hash: hashAt(40) } }]);
    while (await dataset.seal());
    await dataset.trim({ kind: 'seconds', seconds: 20 });
    starts.push(dataset.snapshot().start);
    expect((await readAll(dataset)).at(-1)?.header.number).toBe(40);
  }
  // One block per second; whole segments of four blocks are removed.
  expect(starts).toEqual([17, 17, 17]);
});

test('limit: I-81 removed blocks free their space: the disk holds at most twice the live bytes plus a constant', async () => {
  const fs = new SimFs();
  const dataset = await open(fs);
  const diskBytes = () => fs.paths().reduce((sum, path) => sum + fs.readRaw(path).byteLength, 0);
  const liveBytes = () => {
    const { segments, hot } = dataset.snapshot();
    const sealed = segments.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return sealed + hot.length * buildSegment([blockAt(1)]).byteLength;
  };
  // Two journal files, one being written and one whose blocks are still needed, and one segment in progress.
  const constant = 3 * limits.journalFileBytesMax;
  for (let first = 1; first < 200; first += 8) {
    await grow(dataset, first, first + 7);
    await dataset.commit([
      { kind: 'finalize', block: { number: slot(first + 7), hash: hashAt(first + 7) } },
    ]);
    while (await dataset.seal());
    await dataset.trim({ kind: 'blocks', count: 24 });
    await dataset.collect();
    expect(diskBytes()).toBeLessThanOrEqual(2 * liveBytes() + constant);
  }
  expect(dataset.snapshot().start).toBeGreaterThan(150);
});

test.each<[string, Retention, number | undefined]>([
  ['all', { kind: 'all' }, undefined],
  ['blocks', { kind: 'blocks', count: 11 }, 14],
  ['one more block', { kind: 'blocks', count: 12 }, undefined],
  ['more blocks than there are', { kind: 'blocks', count: 100 }, undefined],
  ['seconds', { kind: 'seconds', seconds: 10 }, 14],
  ['zero seconds', { kind: 'seconds', seconds: 0 }, 22],
  ['zero blocks', { kind: 'blocks', count: 0 }, 22],
  ['zero bytes', { kind: 'bytes', bytes: 0 }, 22],
])(
  'behavior: I-80 I-82 retention by %s removes whole segments below the finalized head',
  async (_name, retention, keepFrom) => {
    const dataset = await open(new SimFs());
    await grow(dataset, 10, 24);
    await dataset.commit([{ kind: 'finalize', block: { number: slot(22), hash: hashAt(22) } }]);
    while (await dataset.seal());
    expect(chooseTrim(dataset.snapshot(), retention)).toBe(keepFrom);
  },
);
