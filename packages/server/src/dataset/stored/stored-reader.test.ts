import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import type { Block } from '../../ledger/block.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { simulatedBlocks } from '../../simulator/testing/simulated-blocks.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import { Dataset } from '../dataset.ts';
import { mergeInProcess, toBuiltSegment } from '../testing/merge-in-process.ts';
import { createDataset } from './create-dataset.ts';
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
  const modules = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  await createDataset(folder, { name: 'ledger', aliases: ['other'], ...kept }, modules);
  dataset = await Dataset.open({ folder, realTime: true }, modules);
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
  const decoded = await Promise.all(hot.map((block) => reader.decodeHotBlock(block)));
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
  const waiting = reader.changed(0, stop.signal);
  stop.abort();
  expect(await waiting).toBe(reader.snapshot());
});
