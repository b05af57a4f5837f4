import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@sluice/base/clock';
import type { Block } from '@sluice/ledger/block';
import { beforeEach, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import type { HotBlock, SealedSegment } from '../../chain/chain-snapshot.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import { Dataset } from '../dataset.ts';
import { writeManifest } from '../manifest.ts';
import { decodeHotBlock } from '../testing/decode-hot-block.ts';
import { mergeInProcess, toBuiltSegment } from '../testing/merge-in-process.ts';
import { createDataset } from './create-dataset.ts';
import { readStoredDataset } from './stored-dataset.ts';
import { StoredReader } from './stored-reader.ts';

const folder = 'data/ledger';
const blocks = simulatedBlocks({
  content: { transactionsPerBlock: 2, votes: 0 },
  firstSlot: 100,
  blockCount: 9,
});
const newBlock = (block: Block) => ({ header: block.header, bytes: buildSegment([block]) });
const headers = (some: readonly Block[]) => some.map(({ header }) => header);

let fs: SimFs;
let dataset: Dataset;

/** Writes a segment of six blocks and two hot blocks, and keeps the dataset open for writing. */
beforeEach(async () => {
  fs = new SimFs();
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  await createDataset(folder, { name: 'ledger', aliases: ['other'], ...kept }, dependencies);
  dataset = await Dataset.open({ folder, realTime: true }, dependencies);
  const { parentSlot, parentHash } = (blocks[0] as Block).header;
  await dataset.commit([{ kind: 'create', anchor: { number: parentSlot, hash: parentHash } }]);
  const sealed = blocks.slice(0, 6);
  await dataset.appendSealed(toBuiltSegment(buildSegment(sealed)), headers(sealed));
  await dataset.commit([{ kind: 'extend', blocks: blocks.slice(6, 8).map(newBlock) }]);
});

test('default: the reader returns the durable blocks and reports that the dataset is not real-time', async () => {
  const reader = await StoredReader.open(folder, fs);
  const { segments, hot, head } = reader.snapshot();
  expect(head).toEqual(dataset.snapshot().head);
  expect(reader.description).toMatchObject({ name: 'ledger', aliases: ['other'], realTime: false });
  const [segment] = segments;
  expect(segment === undefined ? [] : await reader.readHeaders(segment)).toEqual(
    headers(blocks.slice(0, 6)),
  );
  const decoded = await Promise.all(hot.map((block) => decodeHotBlock(reader, block)));
  expect(decoded).toEqual(blocks.slice(6, 8));
});

test('behavior: a reload returns the blocks added meanwhile, with a higher version', async () => {
  const reader = await StoredReader.open(folder, fs);
  const before = reader.snapshot();
  await dataset.commit([{ kind: 'extend', blocks: blocks.slice(8).map(newBlock) }]);
  expect(reader.snapshot()).toBe(before);
  await reader.reload();
  expect(reader.snapshot().head?.number).toBe(blocks[8]?.header.number);
  expect(reader.snapshot().version).toBeGreaterThan(before.version);
});

test('behavior: a wait for a change ends when its signal aborts', async () => {
  const reader = await StoredReader.open(folder, fs);
  const stop = new AbortController();
  let isOver = false;
  const waiting = reader.changed(0, stop.signal).finally(() => {
    isOver = true;
  });
  await nextTurn();
  expect(isOver).toBe(false);
  stop.abort();
  expect(await waiting).toBe(reader.snapshot());
});

test('behavior: a wait that is over already ends at once', async () => {
  const reader = await StoredReader.open(folder, fs);
  expect(await reader.changed(0, AbortSignal.abort())).toBe(reader.snapshot());
});

test('behavior: bytes are read as they were stored, in the memory that the caller provides', async () => {
  const reader = await StoredReader.open(folder, fs);
  const { segments, hot } = reader.snapshot();
  const [segment] = segments as [SealedSegment];
  const [block] = hot as [HotBlock];
  const expected = newBlock(blocks[6] as Block).bytes;
  expect(Buffer.compare(await reader.readHotBlock(block), expected)).toBe(0);
  const target = new Uint8Array(expected.length);
  expect(await reader.readHotBlock(block, () => target)).toBe(target);
  expect(Buffer.compare(target, expected)).toBe(0);
  const bytes = await reader.readSegment(segment);
  expect(Buffer.compare(bytes, buildSegment(blocks.slice(0, 6)))).toBe(0);
  expect(reader.segmentPath(segment)).toBe(`${folder}/segments/${segment.id}`);
});

test('behavior: headers are read from the file once', async () => {
  const reader = await StoredReader.open(folder, fs);
  const [segment] = reader.snapshot().segments as [SealedSegment];
  const first = await reader.readHeaders(segment);
  await fs.remove(reader.segmentPath(segment));
  expect(await reader.readHeaders(segment)).toBe(first);
});

test('behavior: a reader has nothing to report except the segments that were found damaged', async () => {
  const reader = await StoredReader.open(folder, fs);
  expect(reader.status()).toEqual({
    storage: { kind: 'open' },
    freeBytes: null,
    leaseCount: 0,
    counters: {},
    alarms: [],
  });
  const lease = reader.acquire();
  expect(lease.snapshot).toBe(reader.snapshot());
  lease.release();
  expect([...reader.damaged]).toEqual([]);
  const [segment] = reader.snapshot().segments as [SealedSegment];
  reader.reportDamage(segment);
  expect([...reader.damaged]).toEqual([reader.segmentPath(segment)]);
});

test('behavior: kinds that may be missing are those of the manifest', async () => {
  const reader = await StoredReader.open(folder, fs);
  expect(reader.description.allowMissing).toEqual([]);
  const kept = { genesisHash: 'g', votes: 'keep', metaOptional: true } as const;
  const manifest = { name: 'ledger', aliases: [], ...kept, allowMissing: ['logs'] } as const;
  await writeManifest(fs, folder, manifest);
  await reader.reload();
  expect(reader.description).toEqual({
    name: 'ledger',
    aliases: [],
    realTime: false,
    votes: 'keep',
    allowMissing: ['logs', 'meta'],
    genesisHash: 'g',
  });
});

test('behavior: a dataset without blocks has no size, and the sizes of its parts are added', async () => {
  const { blockCount, byteLength } = await readStoredDataset(folder, fs);
  const journal = (await fs.list(`${folder}/journal`))
    .map((name) => fs.readRaw(`${folder}/journal/${name}`).length)
    .reduce((sum, length) => sum + length, 0);
  const segment = dataset.snapshot().segments[0] as SealedSegment;
  expect([blockCount, byteLength]).toEqual([8, segment.byteLength + journal]);
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  await createDataset('data/empty', { name: 'empty', aliases: [], ...kept }, { fs });
  const empty = await readStoredDataset('data/empty', fs);
  expect([empty.blockCount, empty.byteLength, empty.snapshot.start]).toEqual([0, 0, null]);
});
