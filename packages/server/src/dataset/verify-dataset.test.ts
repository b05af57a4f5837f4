import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import type { Block } from '../ledger/block.ts';
import { BLOCK_COLUMNS } from '../segment/block-columns.ts';
import { buildSegment } from '../segment/build-segment.ts';
import { PART } from '../segment/directory.ts';
import { openSegment } from '../segment/open-segment.ts';
import { simulatedBlocks } from '../simulator/testing/simulated-blocks.ts';
import { type Fs, readWholeFile } from '../storage/fs.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { Dataset } from './dataset.ts';
import { findDatasets } from './find-datasets.ts';
import { madeOf, mergeHere } from './testing/merge-here.ts';
import { verifyDataset } from './verify-dataset.ts';

const folder = 'data/ledger';
const never = new AbortController().signal;
const content = { transactionsPerBlock: 2, votes: 0 };
const blocks = simulatedBlocks({ content, firstSlot: 100, blockCount: 9 });
const newBlock = (block: Block) => ({ header: block.header, bytes: buildSegment([block]) });

let fs: SimFs;
let dataset: Dataset;

/** Two segments of three blocks each, and three hot blocks. */
beforeEach(async () => {
  fs = new SimFs();
  const modules = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeHere };
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  await Dataset.create(folder, { name: 'ledger', aliases: [], ...kept }, modules);
  dataset = await Dataset.open({ folder, realTime: true }, modules);
  const { parentSlot, parentHash } = (blocks[0] as Block).header;
  await dataset.commit([{ kind: 'create', anchor: { number: parentSlot, hash: parentHash } }]);
  for (const part of [blocks.slice(0, 3), blocks.slice(3, 6)]) {
    await dataset.appendSealed(
      madeOf(buildSegment(part)),
      part.map(({ header }) => header),
    );
  }
  await dataset.commit([{ kind: 'extend', blocks: blocks.slice(6).map(newBlock) }]);
});

async function verify(disk: Fs = fs): Promise<string[]> {
  const damages = await verifyDataset({ folder }, disk, never);
  return damages.map(({ file, error }) => {
    const { unit } = error.detail;
    return unit === undefined ? `${file}: ${error.code}` : `${file}: ${error.code} ${unit}`;
  });
}

async function change(path: string, edit: (bytes: Uint8Array) => Uint8Array): Promise<void> {
  const bytes = edit((await readWholeFile(fs, path)).slice());
  const file = await fs.openFile(path, 'write');
  await file.truncate(0);
  await file.write(0, [bytes]);
  await file.close();
}

const flip = (at: number) => (bytes: Uint8Array) => {
  bytes[at] = (bytes[at] as number) ^ 1;
  return bytes;
};
const segmentPath = (i: number) => `${folder}/segments/${dataset.snapshot().segments[i]?.id}`;
const segmentFile = (i: number) => `segments/${dataset.snapshot().segments[i]?.id}`;

/** A disk that shows what is there and takes nothing. */
function readOnly(onOpen: (path: string) => Promise<void> = async () => undefined): Fs {
  const refuse = () => Promise.reject(new TypeError('a reader writes'));
  return {
    list: (path) => fs.list(path),
    openFile: async (path, mode) => {
      expect(mode).toBe('read');
      await onOpen(path);
      return fs.openFile(path, mode);
    },
    space: refuse,
    makeFolder: refuse,
    rename: refuse,
    remove: refuse,
    removeFolder: refuse,
    syncFolder: refuse,
  };
}

test('default: a whole dataset, open for writing or not, has no damage, and nothing is written', async () => {
  const parts: number[] = [];
  const onPart = (blockCount: number) => parts.push(blockCount);
  expect(await verifyDataset({ folder, onPart }, readOnly(), never)).toEqual([]);
  expect(parts).toEqual([3, 3, 1, 1, 1]);
  await dataset.close();
  expect(await verify(readOnly())).toEqual([]);
});

test('error: segment-damaged: every damaged part is named, and what is behind is still looked at', async () => {
  const { directory } = openSegment(await readWholeFile(fs, segmentPath(0)));
  const offsetOf = (kind: number, number: number) =>
    directory.parts.find((part) => part.kind === kind && part.number === number)?.entry
      .offset as number;
  await change(segmentPath(0), flip(offsetOf(PART.blockColumn, BLOCK_COLUMNS.hash.id)));
  await change(segmentPath(0), flip(offsetOf(PART.postings, 0)));
  await change(segmentPath(1), flip(directory.groups[0]?.sections[0]?.offset as number));
  expect(await verify()).toEqual([
    `${segmentFile(0)}: segment-damaged postings 0`,
    `${segmentFile(0)}: segment-damaged blocks.hash`,
    `${segmentFile(1)}: segment-damaged group 0.pages`,
  ]);
});

test('error: a segment that is cut or gone is named', async () => {
  await change(segmentPath(0), (bytes) => bytes.subarray(0, bytes.length - 1));
  await fs.remove(segmentPath(1));
  expect(await verify()).toEqual([
    `${segmentFile(0)}: segment-damaged footer`,
    `${segmentFile(1)}: storage-missing`,
  ]);
});

test('error: whole segments in the wrong place: links and names tell', async () => {
  const other = await readWholeFile(fs, segmentPath(0));
  await change(segmentPath(1), () => other);
  expect(await verify()).toEqual([`${segmentFile(1)}: chain-not-linked`]);
  await change(segmentPath(0), () => buildSegment(blocks.slice(0, 2)));
  expect((await verify())[0]).toBe(`${segmentFile(0)}: segment-damaged the whole`);
});

test('error: payload-damaged: a hot block in an older journal file is named by its slot', async () => {
  await dataset.close();
  const limits = { journalFileBytesMax: 1 };
  const modules = { fs, clock: systemClock, isLockHeld: () => true };
  dataset = await Dataset.open({ folder, realTime: true, limits }, modules);
  // A full file makes the next commit begin another.
  const block = (blocks[6] as Block).header;
  await dataset.commit([{ kind: 'finalize', block: { number: block.number, hash: block.hash } }]);
  const [oldest] = await fs.list(`${folder}/journal`);
  expect(await verify()).toEqual([]);
  await change(`${folder}/journal/${oldest}`, (bytes) => flip(bytes.length - 1)(bytes));
  const last = (blocks[8] as Block).header.number;
  expect(await verify()).toEqual([`journal, slot ${last}: payload-damaged`]);
});

test('error: journal and manifest are named', async () => {
  const [journal] = await fs.list(`${folder}/journal`);
  await change(`${folder}/journal/${journal}`, flip(20));
  expect(await verify()).toEqual(['journal: journal-damaged']);
  await change(`${folder}/manifest.json`, flip(40));
  expect(await verify()).toEqual(['manifest.json: dataset-manifest-damaged']);
  await fs.remove(`${folder}/manifest.json`);
  expect(await verify()).toEqual(['manifest.json: dataset-manifest-damaged']);
});

test('error: storage-forbidden: what may not be read is named, whichever file it is', async () => {
  for (const [path, file] of [
    [`${folder}/manifest.json`, 'manifest.json'],
    [`${folder}/journal/`, 'journal'],
    [segmentPath(1), segmentFile(1)],
  ] as const) {
    const disk = readOnly(async (opened) => {
      if (opened.startsWith(path)) throw new CodedError('storage-forbidden');
    });
    expect(await verify(disk)).toEqual([`${file}: storage-forbidden`]);
  }
});

test('error: journal-missing: segments alone are no whole dataset, and opening it touches none of them', async () => {
  await dataset.close();
  for (const name of await fs.list(`${folder}/journal`)) {
    await fs.remove(`${folder}/journal/${name}`);
  }
  expect(await verify()).toEqual(['journal: journal-missing']);
  const before = fs.paths();
  expect(before.filter((path) => path.endsWith('.segment'))).toHaveLength(2);
  const modules = { fs, clock: systemClock, isLockHeld: () => true };
  const opening = Dataset.open({ folder, realTime: false }, modules);
  await expect(opening).rejects.toMatchObject({ code: 'journal-missing' });
  expect(fs.paths()).toEqual(before);
});

test('error: a dataset without its manifest is found, refused, and nothing is made in its place', async () => {
  await dataset.close();
  await fs.remove(`${folder}/manifest.json`);
  expect(await findDatasets('data', fs)).toEqual(['ledger']);
  expect(await Dataset.isThere(folder, fs)).toBe(true);
  const before = fs.paths();
  const modules = { fs, clock: systemClock, isLockHeld: () => true };
  const opening = Dataset.open({ folder, realTime: false }, modules);
  await expect(opening).rejects.toMatchObject({ code: 'dataset-manifest-damaged' });
  expect(fs.paths()).toEqual(before);
});

test('behavior: what the writer lets go meanwhile is no damage', async () => {
  const first = segmentPath(0);
  const head = (blocks[8] as Block).header;
  await dataset.commit([{ kind: 'finalize', block: { number: head.number, hash: head.hash } }]);
  let isTrimmed = false;
  const disk = readOnly(async (path) => {
    if (isTrimmed || path !== first) return;
    isTrimmed = true;
    await dataset.trim({ kind: 'blocks', count: 4 });
    await dataset.collect();
  });
  expect(await verify(disk)).toEqual([]);
  expect([isTrimmed, fs.paths().includes(first)]).toEqual([true, false]);
});
