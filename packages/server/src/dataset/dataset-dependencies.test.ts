/** Tests the calls of a dataset to its dependencies, and what it reports. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodedError, ERRORS } from '@sluice/base/errors';
import { beforeEach, expect, test, vi } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import type { HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import { hash, makeRun, ref, sealRun, slot } from '../chain/testing/chain-fixtures.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import type { NewChange } from './chain-writer.ts';
import { Dataset, type DatasetDependencies } from './dataset.ts';
import type { MakeIndex } from './history/index-thread.ts';
import { MergeThread } from './merge/merge-thread.ts';
import type { SegmentFiles } from './segment-files.ts';
import { createDataset } from './stored/create-dataset.ts';
import { mergeInProcess, toBuiltSegment } from './testing/merge-in-process.ts';

const folder = 'data/ledger';
const run = makeRun('a', [10, 11, 12, 13], { number: 9, hash: 'a9', height: 100 });
const rows = { transactions: [], instructions: [], logs: [], balances: [], tokenBalances: [] };
const bytesOf = ({ header }: HotBlock) => buildSegment([{ header, ...rows, rewards: [] }]);
const create: NewChange = { kind: 'create', anchor: { number: slot(9), hash: hash('a9') } };
const extend = (first = 0, last = 3): NewChange => ({
  kind: 'extend',
  blocks: run.slice(first, last + 1).map((block) => ({
    header: block.header,
    bytes: bytesOf(block),
  })),
});

let fs: SimFs;
let clock: ManualClock;
beforeEach(async () => {
  fs = new SimFs();
  clock = new ManualClock();
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  await createDataset(folder, { name: 'ledger', aliases: [], ...kept }, { fs });
});

const limits = { sealBlockCount: 2 };

function open(dependencies: Partial<DatasetDependencies> = {}, more = {}): Promise<Dataset> {
  return Dataset.open(
    { folder, realTime: true, limits: { ...limits, ...more } },
    { fs, clock, isLockHeld: () => true, merge: mergeInProcess, ...dependencies },
  );
}

const alarmTexts = ({ alarms }: Dataset) =>
  alarms.list().map(({ code, message }) => `${code}: ${message}`);

test('default: the status has the free space, the leases, the counters and the alarms', async () => {
  const dataset = await open({ counters: () => ({ uploads: 3 }) });
  const counters = { commits: 0, forks: 0, replacedBlocks: 0, writeFailures: 0, uploads: 3 };
  expect(dataset.status()).toEqual({
    storage: { kind: 'open' },
    freeBytes: null,
    leaseCount: 0,
    counters,
    alarms: [],
  });
  await dataset.commit([create]);
  dataset.acquire();
  clock.advance(70);
  expect(dataset.oldestLeaseMs).toBe(70);
  expect(dataset.status()).toMatchObject({
    freeBytes: fs.diskSpace.freeBytes,
    leaseCount: 1,
    counters: { ...counters, commits: 1 },
  });
  await dataset.close();
  await dataset.close();
  expect(dataset.status().storage).toEqual({ kind: 'closed' });
  expect((await open()).status().counters).not.toHaveProperty('uploads');
});

test('behavior: forks and the blocks that they replaced are counted', async () => {
  const dataset = await open();
  await dataset.commit([create, extend()]);
  const tip = { number: 11, hash: 'a11', height: 102 };
  const blocks = makeRun('b', [12], tip).map((block) => ({
    header: block.header,
    bytes: bytesOf(block),
  }));
  await dataset.commit([{ kind: 'replace', ancestor: ref('a11'), blocks }]);
  await dataset.commit([{ kind: 'finalize', block: ref('a11') }]);
  await dataset.commit([{ kind: 'finalize', block: ref('a11') }]);
  const counters = { commits: 3, forks: 1, replacedBlocks: 2, writeFailures: 0 };
  expect(dataset.status().counters).toEqual(counters);
  // Blocks that move into a segment are not replaced.
  expect(await dataset.seal()).toBe(true);
  expect(dataset.status().counters).toEqual({ ...counters, commits: 5 });
  const again = makeRun('c', [12], tip).map((block) => ({
    header: block.header,
    bytes: bytesOf(block),
  }));
  await dataset.commit([
    { kind: 'replace', ancestor: ref('a11'), blocks: again },
    { kind: 'finalize', block: ref('c12') },
  ]);
  expect(dataset.status().counters).toMatchObject({ commits: 6, forks: 2, replacedBlocks: 3 });
});

test('behavior: a damaged segment raises an alarm that names no folder, and is reported', async () => {
  const damaged: SealedSegment[] = [];
  const dataset = await open({ onDamage: (segment) => damaged.push(segment) });
  const segment = sealRun(run);
  const cause = `${folder}/segments/x and ${folder}/segments/y cannot be read`;
  dataset.reportDamage(segment, cause);
  expect([alarmTexts(dataset), damaged]).toEqual([
    ['segment-damaged: slots 10 to 13: segments/x and segments/y cannot be read'],
    [segment],
  ]);
  const alone = await open();
  alone.reportDamage(segment, 'x');
  expect(alarmTexts(alone)).toEqual(['segment-damaged: slots 10 to 13: x']);
});

test('behavior: the time of a merge is observed in seconds', async () => {
  const seconds: number[] = [];
  const dataset = await open({
    merge: async (sequence) => {
      clock.advance(1_500);
      return mergeInProcess(sequence);
    },
    observeMerge: (one) => seconds.push(one),
  });
  clock.advance(100);
  await dataset.commit([create, extend(), { kind: 'finalize', block: ref('a13') }]);
  expect([await dataset.seal(), seconds]).toEqual([true, [1.5]]);
});

test('behavior: only a dataset of several processes can confirm its state', async () => {
  expect((await open()).confirm).toBe(undefined);
  expect(await (await open({ confirm: async () => false })).confirm?.()).toBe(false);
});

test('error: while the feed is full, no blocks are added, but other changes are committed', async () => {
  let isFull = false;
  const checkGrowth = () => {
    if (isFull) throw new CodedError('feed-full');
  };
  const dataset = await open({ checkGrowth });
  await dataset.commit([create, extend(0, 1)]);
  isFull = true;
  await expect(dataset.commit([extend(2)])).rejects.toMatchObject({ code: 'feed-full' });
  const both: NewChange[] = [extend(2), { kind: 'finalize', block: ref('a12') }];
  await expect(dataset.commit(both)).rejects.toMatchObject({ code: 'feed-full' });
  await dataset.commit([{ kind: 'finalize', block: ref('a11') }]);
  expect(dataset.snapshot()).toMatchObject({ head: ref('a11'), finalized: ref('a11') });
  expect(alarmTexts(dataset)).toEqual([]);
});

test('error: dataset-write-failed: the alarm has the cause if it is known, and otherwise the error', async () => {
  let cause: Error = new CodedError('feed-unreachable', { operation: 'append' });
  let isFailing = false;
  const publish = async () => {
    if (isFailing) throw cause;
  };
  const dataset = await open({ publish });
  await dataset.commit([create]);
  isFailing = true;
  await expect(dataset.commit([extend()])).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(alarmTexts(dataset)).toEqual([`dataset-write-failed: ${cause.message}`]);
  expect(dataset.status().storage).toEqual({ kind: 'failed', code: 'dataset-write-failed' });
  await dataset.reopen();
  expect(alarmTexts(dataset)).toEqual([]);
  cause = new TypeError('a bug');
  await expect(dataset.commit([extend()])).rejects.toMatchObject({ code: 'dataset-write-failed' });
  expect(alarmTexts(dataset)).toEqual([
    `dataset-write-failed: ${ERRORS['dataset-write-failed'].text}`,
  ]);
  expect(dataset.status().counters['writeFailures']).toBe(2);
});

test('error: a dataset without its manifest is not reopened, and the alarm says so', async () => {
  const dataset = await open();
  await dataset.commit([create]);
  fs.fault = ({ name }) => (name === 'write' ? 'EIO' : undefined);
  await expect(dataset.commit([extend()])).rejects.toMatchObject({ code: 'dataset-write-failed' });
  fs.fault = () => undefined;
  await fs.remove(`${folder}/manifest.json`);
  await expect(dataset.reopen()).rejects.toMatchObject({ code: 'dataset-manifest-damaged' });
  expect(alarmTexts(dataset)).toEqual([expect.stringContaining('manifest')]);
});

test('error: a dataset whose unused files cannot be removed is not opened, and leaves no file open', async () => {
  await (await open()).close();
  const dataset = await open();
  await dataset.commit([{ kind: 'announce', files: ['segments/unused.segment'] }]);
  await dataset.close();
  fs.fault = ({ name }) => (name === 'remove' ? 'EIO' : undefined);
  await expect(open()).rejects.toMatchObject({ code: 'storage-failed' });
  expect(fs.openFileCount).toBe(0);
});

test('behavior: segments can be elsewhere, and unused ones are removed there', async () => {
  const calls: unknown[] = [];
  const segments = {
    remove: async (files: readonly string[]) => {
      calls.push(['remove', ...files]);
      return [];
    },
    write: async ({ id }: SealedSegment) => void calls.push(['write', id]),
    read: async () => Uint8Array.of(7),
    path: ({ id }: SealedSegment) => `cache/${id}`,
    remote: ({ id }: SealedSegment) => ({ location: id }),
  } as unknown as SegmentFiles;
  const dataset = await open({ segments });
  await dataset.commit([create, extend(), { kind: 'finalize', block: ref('a13') }]);
  const lease = dataset.acquire();
  expect(await dataset.seal()).toBe(true);
  const [segment] = dataset.snapshot().segments as [SealedSegment];
  const { id } = segment;
  await dataset.commit([{ kind: 'trim', keepFrom: slot(12) }]);
  // A reader still needs the segment.
  expect(await dataset.collect()).toBe(false);
  lease.release();
  expect(await dataset.collect()).toBe(true);
  expect(calls).toEqual([['remove'], ['write', id], ['remove'], ['remove', `segments/${id}`]]);
  expect(await dataset.readSegment(segment)).toEqual(Uint8Array.of(7));
  expect(dataset.segmentPath(segment)).toBe(`cache/${id}`);
  expect(dataset.remoteSegment(segment)).toEqual({ location: id });
});

test('behavior: a segment that is being written is not removed, and one whose commit failed is', async () => {
  const removed: string[] = [];
  const segments = {
    remove: async (files: readonly string[]) => {
      removed.push(...files);
      return files;
    },
    write: async () => void (await dataset.collect()),
  } as unknown as SegmentFiles;
  const dataset = await open({ segments });
  await dataset.commit([create]);
  const built = toBuiltSegment(bytesOf(run[1] as HotBlock));
  await expect(dataset.appendSealed(built, [(run[1] as HotBlock).header])).rejects.toMatchObject({
    code: 'chain-not-linked',
  });
  expect(removed).toEqual([]);
  await dataset.collect();
  expect(removed).toEqual([expect.stringMatching(/^segments\/.*\.segment$/)]);
  expect(dataset.snapshot().unused).toEqual([]);
});

test('behavior: sealing and loading history stop while there is too little space, before they merge', async () => {
  let mergeCount = 0;
  const dataset = await open({
    merge: (sequence) => {
      mergeCount++;
      return mergeInProcess(sequence);
    },
  });
  await dataset.commit([create, extend(), { kind: 'finalize', block: ref('a13') }]);
  fs.diskSpace = { freeBytes: 1, totalBytes: 1e12 };
  clock.advance(1_000);
  await dataset.commit([{ kind: 'finalize', block: ref('a13') }]);
  await expect.poll(() => dataset.status().storage.kind).toBe('disk-floor');
  const full = { code: 'disk-floor-reached' };
  await expect(dataset.seal()).rejects.toMatchObject(full);
  await expect(dataset.prependSealed([], [])).rejects.toMatchObject(full);
  const built = toBuiltSegment(bytesOf(run[0] as HotBlock));
  await expect(dataset.appendSealed(built, [(run[0] as HotBlock).header])).rejects.toMatchObject(
    full,
  );
  expect([mergeCount, dataset.status().leaseCount]).toEqual([0, 0]);
});

test('limit: blocks are sealed when they have enough bytes', async () => {
  const sealBytes = run.slice(0, 3).reduce((sum, block) => sum + bytesOf(block).length, 0);
  const dataset = await open({}, { sealBlockCount: 99, sealBytes });
  await dataset.commit([create, extend(), { kind: 'finalize', block: ref('a13') }]);
  expect([await dataset.seal(), await dataset.seal()]).toEqual([true, false]);
  expect(dataset.snapshot().segments.map(({ blockCount }) => blockCount)).toEqual([3]);
});

test('default: segments are merged in a thread', async () => {
  const merge = vi.spyOn(MergeThread.prototype, 'merge').mockImplementation(mergeInProcess);
  const dataset = await Dataset.open(
    { folder, realTime: true, limits },
    { fs, clock, isLockHeld: () => true },
  );
  await dataset.commit([create, extend(), { kind: 'finalize', block: ref('a13') }]);
  expect([await dataset.seal(), merge.mock.calls.length]).toEqual([true, 1]);
  merge.mockRestore();
});

test('behavior: segments are merged in another thread than blocks are sealed, unless too many wait', async () => {
  const speeds: string[] = [];
  const merge = vi.spyOn(MergeThread.prototype, 'merge');
  merge.mockImplementation(function (this: MergeThread, sequence) {
    speeds.push(this.speed);
    return mergeInProcess(sequence);
  });
  const openWith = (mergeBytes: number) =>
    Dataset.open(
      { folder, realTime: true, limits: { sealBlockCount: 1, mergeCount: 2, mergeBytes } },
      { fs, clock, isLockHeld: () => true },
    );
  const slots = Array.from({ length: 12 }, (_, i) => i + 10);
  const blocks = makeRun('a', slots, { number: 9, hash: 'a9', height: 100 });
  const unmerged = await openWith(1);
  const added = blocks.map((block) => ({ header: block.header, bytes: bytesOf(block) }));
  await unmerged.commit([create, { kind: 'extend', blocks: added }]);
  await unmerged.commit([{ kind: 'finalize', block: ref('a21') }]);
  while (await unmerged.seal());
  const { segments } = unmerged.snapshot();
  await unmerged.close();
  expect([segments.length, speeds]).toEqual([12, segments.map(() => 'low')]);
  speeds.length = 0;
  // Two of these segments fill a merged one, and are four fifths of its size.
  const bytesMax = Math.max(...segments.map(({ byteLength }) => byteLength));
  const dataset = await openWith(bytesMax * 2.5);
  await dataset.finishUpkeep();
  expect(speeds).toEqual(['low', 'paced', 'paced', 'paced', 'paced']);
  await dataset.close();
  merge.mockRestore();
});

test('behavior: files of which an index is being made are not removed before it is made', async () => {
  let finish = () => {};
  const inputs: string[] = [];
  const shape = { pageCount: 1, partCount: 1, keyCount: 1, listBytes: 0, numberBytes: 0 };
  const makeIndex: MakeIndex = ({ segments }, signal) => {
    inputs.push(...segments.map(({ path }) => path));
    return new Promise((resolve, reject) => {
      finish = () => resolve(shape);
      signal.addEventListener('abort', () => reject(new CodedError('segment-merge-failed', {})));
    });
  };
  const dataset = await Dataset.open(
    { folder, realTime: true, limits: { sealBlockCount: 1, mergeBytes: 1 } },
    { fs, clock, isLockHeld: () => true, merge: mergeInProcess, makeIndex },
  );
  const slots = Array.from({ length: 12 }, (_, i) => i + 10);
  const blocks = makeRun('a', slots, { number: 9, hash: 'a9', height: 100 });
  const added = blocks.map((block) => ({ header: block.header, bytes: bytesOf(block) }));
  await dataset.commit([create, { kind: 'extend', blocks: added }]);
  await dataset.commit([{ kind: 'finalize', block: ref('a21') }]);
  while (await dataset.seal());
  while (inputs.length === 0) await nextTurn();
  while (await dataset.trim({ kind: 'blocks', count: 2 })) await dataset.collect();
  const exists = (path: string) => fs.paths().includes(path);
  expect(inputs.length).toBeGreaterThan(1);
  expect(inputs.filter((path) => !exists(path))).toEqual([]);
  finish();
  const first = inputs[0] as string;
  while (exists(first)) await nextTurn();
  await dataset.close();
});

test('behavior: a trim that removes nothing is no commit', async () => {
  const dataset = await open();
  const before = await dataset.commit([create, extend()]);
  expect([await dataset.trim({ kind: 'all' }), dataset.snapshot() === before]).toEqual([
    false,
    true,
  ]);
});

test('behavior: history is prepended as one segment, and the start moves down', async () => {
  const dataset = await open();
  const anchor = { number: slot(11), hash: hash('a11') };
  await dataset.commit([{ kind: 'create', anchor }, extend(2)]);
  await dataset.commit([{ kind: 'finalize', block: ref('a13') }]);
  const blocks = run.slice(0, 2);
  const snapshot = await dataset.prependSealed(
    blocks.map(bytesOf),
    blocks.map(({ header }) => header),
  );
  expect(snapshot).toMatchObject({ start: 10, anchor: ref('a9'), head: ref('a13') });
  const [segment] = snapshot.segments as [SealedSegment];
  expect(await dataset.readHeaders(segment)).toEqual(blocks.map(({ header }) => header));
});

test('behavior: the manifest of an open dataset can be changed', async () => {
  const dataset = await open();
  await dataset.updateManifest({ aliases: ['new'], from: 'latest' });
  expect(dataset.description).toMatchObject({ aliases: ['new'], from: 'latest', realTime: true });
});

test('behavior: after a restart, a wait for a change after the stored version does not end', async () => {
  const first = await open();
  await first.commit([create, extend()]);
  await first.close();
  const again = await open();
  const { signal } = new AbortController();
  expect((await again.changed(again.snapshot().version - 1, signal)).head).toEqual(ref('a13'));
  let isWoken = false;
  void again.changed(again.snapshot().version, signal).then(() => {
    isWoken = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isWoken).toBe(false);
  await again.close();
});
