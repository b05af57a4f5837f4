import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import { beforeEach, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import { hash, makeHeader } from '../../chain/testing/chain-fixtures.ts';
import { BLOCK_COLUMNS } from '../../segment/layout/block-columns.ts';
import { PART } from '../../segment/layout/directory.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { type Fs, readWholeFile } from '../../storage/fs.ts';
import { scanJournal } from '../../storage/scan-journal.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import { Dataset } from '../dataset.ts';
import type { BuiltSegment } from '../merge/built-segment.ts';
import { describeBuilt, SegmentStore } from '../segment-store.ts';
import { mergeInProcess, toBuiltSegment } from '../testing/merge-in-process.ts';
import { createDataset, datasetExists } from './create-dataset.ts';
import { findDatasets } from './find-datasets.ts';
import { verifyDataset } from './verify-dataset.ts';

const folder = 'data/ledger';
const never = new AbortController().signal;
const content = { transactionsPerBlock: 2, votes: 0 };
const blocks = simulatedBlocks({ content, firstSlot: 100, blockCount: 9 });
const newBlock = (block: Block) => ({ header: block.header, bytes: buildSegment([block]) });

let fs: SimFs;
let dataset: Dataset;

/** Stores two segments of three blocks each, and three hot blocks. */
beforeEach(async () => {
  fs = new SimFs();
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  await createDataset(folder, { name: 'ledger', aliases: [], ...kept }, dependencies);
  dataset = await Dataset.open({ folder, realTime: true }, dependencies);
  const { parentSlot, parentHash } = (blocks[0] as Block).header;
  await dataset.commit([{ kind: 'create', anchor: { number: parentSlot, hash: parentHash } }]);
  for (const part of [blocks.slice(0, 3), blocks.slice(3, 6)]) {
    await dataset.appendSealed(
      toBuiltSegment(buildSegment(part)),
      part.map(({ header }) => header),
    );
  }
  await dataset.commit([{ kind: 'extend', blocks: blocks.slice(6).map(newBlock) }]);
});

async function verify(disk: Fs = fs): Promise<string[]> {
  const damages = await verifyDataset({ folder }, disk, never);
  return damages.map(({ file, error }) => {
    const { unit, reason } = error.detail;
    const place = unit === 'file' ? `: ${reason}` : ` ${unit}`;
    return `${file}: ${error.code}${unit === undefined ? '' : place}`;
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

/** A file system that fails on every write. */
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

test('behavior: an incomplete last record is noted, unless it is complete when the journal is read again', async () => {
  await dataset.close();
  const path = fs.paths().find((name) => name.endsWith('.journal')) as string;
  const whole = fs.readRaw(path);
  const { lastStart } = scanJournal(whole, Number(/(\d+)\.journal/.exec(path)?.[1]));
  const noted: number[] = [];
  const onIncomplete = (byteLength: number) => noted.push(byteLength);
  const first = segmentPath(0);
  const finish = async (opened: string) => {
    if (opened === first) fs.writeRaw(path, whole);
  };
  fs.writeRaw(path, whole.subarray(0, -1));
  expect(await verifyDataset({ folder, onIncomplete }, readOnly(), never)).toEqual([]);
  expect(noted).toEqual([whole.length - 1 - lastStart]);
  expect(await verifyDataset({ folder, onIncomplete }, readOnly(finish), never)).toEqual([]);
  expect(noted).toHaveLength(1);
});

test('default: an intact dataset has no damage, open for writing or not, and nothing is written', async () => {
  const parts: number[] = [];
  const onPart = (blockCount: number) => parts.push(blockCount);
  expect(await verifyDataset({ folder, onPart }, readOnly(), never)).toEqual([]);
  expect(parts).toEqual([3, 3, 1, 1, 1]);
  await dataset.close();
  expect(await verify(readOnly())).toEqual([]);
});

test('error: segment-damaged: every damaged part is reported, and the files after it are still checked', async () => {
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

test('error: a truncated or missing segment is reported', async () => {
  await change(segmentPath(0), (bytes) => bytes.subarray(0, bytes.length - 1));
  await fs.remove(segmentPath(1));
  expect(await verify()).toEqual([
    `${segmentFile(0)}: segment-damaged footer`,
    `${segmentFile(1)}: storage-missing`,
  ]);
});

test('error: intact segments under the wrong names are detected by links and names', async () => {
  const other = await readWholeFile(fs, segmentPath(0));
  await change(segmentPath(1), () => other);
  expect(await verify()).toEqual([`${segmentFile(1)}: chain-not-linked`]);
  await change(segmentPath(0), () => buildSegment(blocks.slice(0, 2)));
  const renamed = 'the content does not match the file name';
  expect((await verify())[0]).toBe(`${segmentFile(0)}: segment-damaged: ${renamed}`);
});

test('error: payload-damaged: a damaged hot block in an older journal file is reported by its slot', async () => {
  await dataset.close();
  const limits = { journalFileBytesMax: 1 };
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true };
  dataset = await Dataset.open({ folder, realTime: true, limits }, dependencies);
  // The file is full, so the next commit starts another one.
  const block = (blocks[6] as Block).header;
  await dataset.commit([{ kind: 'finalize', block: { number: block.number, hash: block.hash } }]);
  const [oldest] = await fs.list(`${folder}/journal`);
  expect(await verify()).toEqual([]);
  await change(`${folder}/journal/${oldest}`, (bytes) => flip(bytes.length - 1)(bytes));
  const last = (blocks[8] as Block).header.number;
  expect(await verify()).toEqual([`journal, slot ${last}: payload-damaged`]);
});

test('error: a damaged journal or manifest is reported', async () => {
  const [journal] = await fs.list(`${folder}/journal`);
  await change(`${folder}/journal/${journal}`, flip(20));
  expect(await verify()).toEqual(['journal: journal-damaged']);
  await change(`${folder}/manifest.json`, flip(40));
  expect(await verify()).toEqual(['manifest.json: dataset-manifest-damaged']);
  await fs.remove(`${folder}/manifest.json`);
  expect(await verify()).toEqual(['manifest.json: dataset-manifest-damaged']);
});

test('error: storage-forbidden: an unreadable file is reported, whichever it is', async () => {
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

test('error: journal-missing: a dataset with segments but no journal is rejected, and its files are not changed', async () => {
  await dataset.close();
  for (const name of await fs.list(`${folder}/journal`)) {
    await fs.remove(`${folder}/journal/${name}`);
  }
  expect(await verify()).toEqual(['journal: journal-missing']);
  const before = fs.paths();
  expect(before.filter((path) => path.endsWith('.segment'))).toHaveLength(2);
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true };
  const opening = Dataset.open({ folder, realTime: false }, dependencies);
  await expect(opening).rejects.toMatchObject({ code: 'journal-missing' });
  expect(fs.paths()).toEqual(before);
});

test('error: a dataset without its manifest is found and rejected, and no new one is created in its place', async () => {
  await dataset.close();
  await fs.remove(`${folder}/manifest.json`);
  expect(await findDatasets('data', fs)).toEqual(['ledger']);
  expect(await datasetExists(folder, fs)).toBe(true);
  const before = fs.paths();
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true };
  const opening = Dataset.open({ folder, realTime: false }, dependencies);
  await expect(opening).rejects.toMatchObject({ code: 'dataset-manifest-damaged' });
  expect(fs.paths()).toEqual(before);
});

test('behavior: files that the writer removes meanwhile are not reported as damage', async () => {
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

test('behavior: the journal has the place of each signature index, and a wrong place is damage', async () => {
  const places = dataset.snapshot().segments.map(({ signatures }) => signatures);
  expect(places).toEqual([expect.any(Object), expect.any(Object)]);
  expect(await verify()).toEqual([]);
  await dataset.commit([{ kind: 'seal', segments: [await sealHot()] }]);
  expect(await verify()).toEqual([
    expect.stringContaining(': the journal has another position of its signature index'),
  ]);
});

/** Verifies a dataset from slot 0 whose only block has this content. */
async function verifyHot(bytes: (block: Block) => Uint8Array): Promise<string[]> {
  fs = new SimFs();
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true };
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  await createDataset(folder, { name: 'ledger', aliases: [], ...kept }, dependencies);
  dataset = await Dataset.open({ folder, realTime: true }, dependencies);
  const header = makeHeader('a', 0, null);
  const block = { ...(blocks[0] as Block), header };
  await dataset.commit([
    { kind: 'create', anchor: null },
    { kind: 'extend', blocks: [{ header, bytes: bytes(block) }] },
  ]);
  return verify();
}

test('error: a hot block that is not the recorded one, or not alone, or damaged, is reported', async () => {
  expect(await verifyHot((block) => buildSegment([block]))).toEqual([]);
  const other = (block: Block) => ({ ...block, header: { ...block.header, hash: hash('b0') } });
  const differs =
    'journal, slot 0: segment-damaged: the block is not the one recorded in the journal';
  expect(await verifyHot((block) => buildSegment([other(block)]))).toEqual([differs]);
  const next = (block: Block) => ({ ...block, header: makeHeader('a', 1, block.header) });
  expect(await verifyHot((block) => buildSegment([block, next(block)]))).toEqual([differs]);
  const unlinked = await verifyHot((block) => buildSegment([next(block)]));
  expect(unlinked).toEqual(['journal, slot 0: chain-not-linked']);
  const damaged = await verifyHot((block) => {
    const bytes = buildSegment([block]);
    const group = openSegment(bytes).directory.groups[0];
    return flip(group?.sections[0]?.offset as number)(bytes);
  });
  expect(damaged).toEqual([expect.stringMatching(/^journal, slot 0: segment-damaged group/)]);
});

test('behavior: each part is reported with its size, until the signal aborts', async () => {
  const { segments } = dataset.snapshot();
  for (const [stopAt, expected] of [
    [1, 1],
    [2, 2],
    [4, 4],
    [99, 5],
  ] as const) {
    const stop = new AbortController();
    const parts: [number, number][] = [];
    const onPart = (...part: [number, number]) => {
      if (parts.push(part) === stopAt) stop.abort();
    };
    expect(await verifyDataset({ folder, onPart }, fs, stop.signal)).toEqual([]);
    const sizes = [
      ...segments.map(({ byteLength }) => [3, byteLength]),
      ...blocks.slice(6).map((block) => [1, newBlock(block).bytes.length]),
    ];
    expect(parts).toEqual(sizes.slice(0, expected));
  }
});

test('behavior: damage counts even if the journal is damaged meanwhile, and a bug is thrown', async () => {
  const broken = readOnly(async (path) => {
    if (path === segmentPath(0)) throw new TypeError('a bug');
  });
  await expect(verify(broken)).rejects.toThrow('a bug');
  await change(segmentPath(0), flip(100));
  // The journal is read again after the damage was found, and only that fails.
  let isNext = false;
  const late = readOnly(async (path) => {
    if (isNext && path.includes('/journal/')) {
      isNext = false;
      throw new TypeError('a late bug');
    }
    if (path === segmentPath(0)) isNext = true;
  });
  await expect(verify(late)).rejects.toThrow('a late bug');
  const [journal] = await fs.list(`${folder}/journal`);
  let isDamaged = false;
  const disk = readOnly(async (path) => {
    if (isDamaged || path !== segmentPath(1)) return;
    isDamaged = true;
    await change(segmentPath(1), flip(100));
    await change(`${folder}/journal/${journal}`, flip(20));
  });
  const found = await verify(disk);
  expect(found.filter((text) => text.startsWith(segmentFile(0)))).toHaveLength(1);
  expect(found.filter((text) => text.startsWith(segmentFile(1)))).toHaveLength(1);
});

test('behavior: a segment without a recorded position of its signature index is not reported as damaged', async () => {
  await dataset.commit([{ kind: 'seal', segments: [await sealHot(() => undefined)] }]);
  expect(await verify()).toEqual([]);
});

const wrongPlace = (place: BuiltSegment['signatures']) =>
  place === undefined ? undefined : { ...place, offset: 0 };

/** Stores the hot blocks as a segment whose description has another position of the signature index, by default a wrong one. */
async function sealHot(placeOf = wrongPlace): Promise<SealedSegment> {
  const hot = blocks.slice(6);
  const built = toBuiltSegment(buildSegment(hot));
  const wrong = placeOf(built.signatures);
  const store = new SegmentStore(folder, fs);
  await dataset.commit([{ kind: 'finalize', block: (blocks.at(-1) as Block).header }]);
  const segment = describeBuilt(
    { ...built, signatures: wrong },
    hot.map(({ header }) => header),
  );
  await store.write(segment, built.parts);
  return segment;
}
