import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import type { IndexRun, SealedSegment } from '../chain/chain-snapshot.ts';
import { makeIndexInThread } from '../dataset/history/index-thread.ts';
import { describeBuilt } from '../dataset/segment-store.ts';
import { toBuiltSegment } from '../dataset/testing/merge-in-process.ts';
import { ObjectCache } from '../object-store/object-cache.ts';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import { indexByteLength } from '../segment/history/layout.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { BucketIndexes } from './bucket-indexes.ts';

/** Not a multiple of a page, so that pages, lists and the header are divided between pieces. */
const pieceBytes = 10_001;
const indexCount = 5;
const folder = mkdtempSync(join(tmpdir(), 'sluice-index-pieces-'));
const workFolder = join(folder, 'work');
const store = new MemoryStore();
const bytesOfSegment = new Map<string, Uint8Array>();
const { signal } = new AbortController();
const runs: IndexRun[] = [];
let cache: ObjectCache;
let indexes: BucketIndexes;

async function makeOf(
  id: string,
  inputs: { segments?: readonly SealedSegment[]; runs?: readonly IndexRun[] },
  until: AbortSignal = signal,
): Promise<IndexRun> {
  const segments = (inputs.segments ?? []).map((segment) => ({
    segment,
    first: segment.first.number,
    last: segment.last.number,
  }));
  const parts = { id, segments, runs: inputs.runs ?? [] };
  const shape = await indexes.make(parts, makeIndexInThread, until);
  const first = segments[0]?.first ?? parts.runs[0]?.first ?? 0;
  const last = segments.at(-1)?.last ?? parts.runs.at(-1)?.last ?? 0;
  return { id, first, last, ...shape, byteLength: indexByteLength(shape) };
}

beforeAll(async () => {
  const limits = { folder: join(folder, 'cache'), bytesMax: 1 << 28, requestCountMax: 4 };
  cache = await ObjectCache.open(limits, { store, clock: systemClock, fs: nodeFs });
  const readSegment = async ({ id }: SealedSegment) => bytesOfSegment.get(id) as Uint8Array;
  indexes = new BucketIndexes(
    { dataset: 'ledger', workFolder, pieceBytes },
    { store, cache, fs: nodeFs, readSegment },
  );
  const content = { transactionsPerBlock: 60, votes: 0 };
  const blocks = simulatedBlocks({ content, blockCount: indexCount * 8 });
  for (let i = 0; i < indexCount; i++) {
    const segments = blocks.slice(i * 8, i * 8 + 8).map((block) => {
      const built = toBuiltSegment(buildSegment([block]));
      const segment = describeBuilt(built, [block.header]);
      bytesOfSegment.set(segment.id, Buffer.concat(built.parts));
      return segment;
    });
    runs.push(await makeOf(`index-${i}`, { segments }));
  }
});
afterAll(async () => {
  await cache.close();
  rmSync(folder, { recursive: true });
});

/** Merges the same indexes from local files. */
async function mergeLocally(): Promise<Uint8Array> {
  const paths = [];
  for (const run of runs) {
    const path = join(folder, run.id);
    await indexes.download(run, { fs: nodeFs, path });
    paths.push(path);
  }
  const target = join(folder, 'merged-locally');
  await makeIndexInThread({ segments: [], runs: paths, target }, signal);
  return readFileSync(target);
}

function localBytes(): number {
  if (!existsSync(workFolder)) return 0;
  const names = readdirSync(workFolder, { recursive: true, encoding: 'utf8' });
  const files = names.map((name) => statSync(join(workFolder, name))).filter((one) => one.isFile());
  return files.reduce((sum, { size }) => sum + size, 0);
}

test('behavior: indexes merged in the store equal those merged on a disk, which has few pieces of them at a time', async () => {
  let mostBytes = 0;
  store.before = (operation) => {
    if (operation === 'put') mostBytes = Math.max(mostBytes, localBytes());
    return undefined;
  };
  const merged = await makeOf('merged', { runs });
  store.before = () => undefined;
  const path = join(folder, 'merged');
  await indexes.download(merged, { fs: nodeFs, path });
  expect(readFileSync(path).equals(await mergeLocally())).toBe(true);
  await indexes.verify(merged);
  const pieceCount = Math.ceil(merged.byteLength / pieceBytes);
  expect(pieceCount).toBeGreaterThan(12);
  expect(mostBytes).toBeLessThanOrEqual(4 * pieceBytes);
  expect(readdirSync(workFolder)).toEqual([]);
});

test('behavior: a failure of the store ends a merge, and the next one succeeds', async () => {
  let putCount = 0;
  store.before = (operation) => {
    if (operation !== 'put' || ++putCount < 5) return undefined;
    throw new CodedError('store-unreachable', {});
  };
  await expect(makeOf('failing', { runs })).rejects.toMatchObject({ code: 'store-unreachable' });
  store.before = () => undefined;
  expect(readdirSync(workFolder)).toEqual([]);
  await indexes.verify(await makeOf('repeated', { runs }));
});

test('behavior: a merge is ended while it waits for the store', async () => {
  const stop = new AbortController();
  store.before = (operation) => {
    if (operation !== 'get') return undefined;
    stop.abort();
    return new Promise(() => undefined);
  };
  await expect(makeOf('ended', { runs }, stop.signal)).rejects.toMatchObject({
    code: 'segment-merge-failed',
  });
  store.before = () => undefined;
  expect(readdirSync(workFolder)).toEqual([]);
});
