import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import type { Block } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import { afterAll, expect, test } from 'vitest';
import {
  type ChainSnapshot,
  emptySnapshot,
  type SealedSegment,
} from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { answerBlock } from '../../engine/testing/reference/answer-query.ts';
import { EnginePool } from '../../engine/threads/engine-pool.ts';
import { sampleBlock } from '../../segment/testing/sample-block.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { readWholeFile } from '../../storage/fs.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import { DatasetSegments } from '../dataset-segments.ts';
import { MemoryDataset } from '../testing/memory-dataset.ts';
import { sumHashes } from '../testing/sum-hashes.ts';
import { StoredDigests } from './digest-files.ts';
import { RangeDigests } from './range-digests.ts';
import { SegmentLookups } from './segment-lookups.ts';
import { STORED_BLOCK } from './selections.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-range-digests-'));
const pool = new EnginePool({ threadCount: 2, cacheBytesMax: 1 << 24 });
afterAll(async () => {
  await pool.stop();
  rmSync(folder, { recursive: true });
});

const { signal } = new AbortController();
/** Slots 0 to 1,399, of which every fifth has no block, and none from 600 to 1,299. */
const blocks = Array.from({ length: 1_400 }, (_, slot) => slot)
  .filter((slot) => slot % 5 !== 0 && (slot < 600 || slot >= 1_300))
  .map((slot) => sampleBlock(slot));
let datasetCount = 0;

/** Stores blocks in segments of a length. `reads` counts the segments that are opened. */
function digestsOf(
  length: number,
  { stored = blocks, files = undefined as StoredDigests | undefined } = {},
) {
  const name = `dataset-${datasetCount++}`;
  const runs: Block[][] = [];
  for (let at = 0; at < stored.length; at += length) runs.push(stored.slice(at, at + length));
  const byId = new Map<string, Block[]>();
  const segments = runs.map((run, i) => {
    const id = `${name}-${i}`;
    byId.set(id, run);
    const bytes = buildSegment(run);
    writeFileSync(join(folder, id), bytes);
    const refs = { first: run[0]?.header, last: run.at(-1)?.header };
    return { id, ...refs, blockCount: run.length, byteLength: bytes.length } as unknown;
  }) as SealedSegment[];
  const head = stored.at(-1)?.header ?? null;
  const snapshot: ChainSnapshot = {
    ...emptySnapshot,
    start: 0 as Slot,
    head,
    finalized: head,
    segments,
  };
  let reads = 0;
  const dataset = {
    description: { name },
    segmentPath: ({ id }: SealedSegment) => {
      reads++;
      return join(folder, id);
    },
    readHeaders: async ({ id }: SealedSegment) => byId.get(id)?.map(({ header }) => header),
  } as unknown as DatasetReader;
  const lookups = new SegmentLookups({ segments: new DatasetSegments({ dataset, pool }), pool });
  const digests = new RangeDigests({ dataset, lookups, files });
  const of = async (first: number, last: number) =>
    digests.digest({ first, last }, snapshot, signal);
  return { of, reads: () => reads };
}

const expected = (first: number, last: number, stored = blocks) =>
  sumHashes(
    stored
      .filter(({ header: { number } }) => number >= first && number <= last)
      .map((block) => answerBlock(STORED_BLOCK, block) ?? ''),
  );

test.each([
  [0, 1_399],
  [0, 255],
  [7, 7],
  [5, 5],
  [250, 530],
  [601, 1_250],
  [590, 1_310],
])('default: the digest of slots %i to %i is the same for all segments', async (first, last) => {
  const wanted = { digest: expected(first, last), toBlock: last, isComplete: true };
  for (const length of [16, 2_000]) {
    const { of } = digestsOf(length);
    expect(await of(first, last)).toMatchObject(wanted);
    expect(await of(first, last)).toMatchObject(wanted);
  }
});

test('behavior: a changed record or a missing block changes the digest', async () => {
  const same = (await digestsOf(64).of(0, 599)).digest;
  const [found = sampleBlock(1)] = blocks.slice(70, 71);
  const changed = { ...found, logs: found.logs.map((log) => ({ ...log, message: 'other' })) };
  const replaced = blocks.map((block) => (block === found ? changed : block));
  const fewer = blocks.filter((block) => block !== found);
  for (const stored of [replaced, fewer])
    expect((await digestsOf(64, { stored }).of(0, 599)).digest).not.toBe(same);
});

test('behavior: stored digests are used by another process, and damaged ones are computed again', async () => {
  const fs = new SimFs();
  const files = () => new StoredDigests('data/mine', fs);
  const before = await digestsOf(100, { files: files() }).of(0, 1_399);
  const names = await fs.list('data/mine/digests');
  expect(names).toEqual([0, 256, 512].map((slot) => `${String(slot).padStart(16, '0')}.digest`));
  const again = digestsOf(7, { files: files() });
  expect(await again.of(0, 511)).toMatchObject({ digest: expected(0, 511) });
  expect(again.reads()).toBe(0);
  const path = `data/mine/digests/${names[0]}`;
  const length = (await readWholeFile(fs, path)).length;
  const file = await fs.openFile(path, 'write');
  await file.write(length - 1, [Uint8Array.of(255)]);
  await file.close();
  const repaired = digestsOf(50, { files: files() });
  expect(await repaired.of(0, 1_399)).toEqual(before);
  expect(repaired.reads()).toBeGreaterThan(0);
});

test('behavior: the sum of 65,536 slots is stored, and read instead of their digests', async () => {
  const groupSlots = 65_536;
  const slots = [1, 300, 40_000, groupSlots - 1, groupSlots, groupSlots + 9, 2 * groupSlots + 7];
  const stored = slots.map((slot) => sampleBlock(slot));
  const fs = new SimFs();
  const files = () => new StoredDigests('data/mine', fs);
  const last = 2 * groupSlots + 7;
  const first = digestsOf(3, { stored, files: files() });
  expect(await first.of(0, last)).toMatchObject({ digest: expected(0, last, stored), blocks: 7 });
  const names = await fs.list('data/mine/digests');
  expect(names.filter((name) => name.endsWith('.sum'))).toEqual([
    '0000000000000000.sum',
    '0000000000065536.sum',
  ]);
  for (const name of names.filter((name) => name.endsWith('.digest')))
    await fs.remove(`data/mine/digests/${name}`);
  const again = digestsOf(2, { stored, files: files() });
  const end = 2 * groupSlots - 1;
  expect(await again.of(0, end)).toMatchObject({ digest: expected(0, end, stored), blocks: 6 });
  expect(again.reads()).toBe(0);
  const part = [groupSlots - 1, groupSlots + 8] as const;
  expect(await again.of(...part)).toMatchObject({ digest: expected(...part, stored), blocks: 2 });
  const removing = files();
  await removing.removeBelow(groupSlots + 300);
  expect(await fs.list('data/mine/digests')).not.toContain('0000000000000000.sum');
  await removing.removeBelow(2 * groupSlots);
  expect((await fs.list('data/mine/digests')).filter((name) => name.endsWith('.sum'))).toEqual([]);
});

test('behavior: a disk that is full does not prevent a digest', async () => {
  const fs = new SimFs();
  fs.fault = ({ name }) => (name === 'write' ? 'ENOSPC' : undefined);
  const { of } = digestsOf(100, { files: new StoredDigests('data/mine', fs) });
  expect(await of(0, 511)).toMatchObject({ digest: expected(0, 511) });
});

test('limit: one request computes no further window after 1,024 blocks', async () => {
  const many = Array.from({ length: 1_400 }, (_, slot) => sampleBlock(slot));
  const { of } = digestsOf(500, { stored: many });
  expect(await of(0, 1_399)).toMatchObject({ toBlock: 1_023, isComplete: false, blocks: 1_024 });
  expect(await of(1_024, 1_399)).toMatchObject({ toBlock: 1_399, isComplete: true, blocks: 376 });
});

test('behavior: digests of new final blocks are stored, and those of removed blocks are removed', async () => {
  const dataset = new MemoryDataset();
  const fs = new SimFs();
  const written: number[] = [];
  const removed: number[] = [];
  const lookups = new SegmentLookups({ segments: new DatasetSegments({ dataset, pool }), pool });
  let wake: () => void = () => undefined;
  const stored = new StoredDigests('data/mine', fs);
  const files = {
    read: (window: number) => stored.read(window),
    write: async (window: number, entries: Uint8Array) => {
      await stored.write(window, entries);
      written.push(window);
      wake();
    },
    readGroup: (group: number) => stored.readGroup(group),
    writeGroup: (group: number, sum: Uint8Array) => stored.writeGroup(group, sum),
    removeBelow: async (slot: number) => {
      await stored.removeBelow(slot);
      removed.push(slot);
      wake();
    },
  };
  const stop = new AbortController();
  const following = new RangeDigests({ dataset, lookups, files }).follow(systemClock, stop.signal);
  const next = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  let waiting = next();
  dataset.extend(Array.from({ length: 530 }, (_, slot) => slot));
  dataset.finalize(520);
  await waiting;
  if (written.length < 2) await next();
  expect(written).toEqual([0, 1]);
  dataset.seal(300);
  waiting = next();
  dataset.trim(301);
  await waiting;
  expect(removed).toEqual([301]);
  expect(await fs.list('data/mine/digests')).toEqual(['0000000000000256.digest']);
  stop.abort();
  await following;
});
