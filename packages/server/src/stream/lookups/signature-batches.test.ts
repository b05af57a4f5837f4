/** How a search for a signature divides its work, with a pool that answers from a table. */
import { beforeEach, expect, test } from 'vitest';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import type { EnginePool } from '../../engine/threads/engine-pool.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import { SignatureCandidates } from './signature-candidates.ts';

const { probeCountFirst, probeCountMax, probeFetchCountMax } = LOOKUP_LIMITS;
const signature = new Uint8Array(64);
const index = { offset: 5 };

interface Probed {
  readonly kind?: string;
  readonly path?: string;
  readonly index?: unknown;
}

/** The files of each call of the pool. */
let calls: Probed[][];
/** The numbers of requests that were open at once. */
let fetched: { path: string; ranges: unknown }[];
let openCountMax: number;
let answer: (path: string, call: number) => unknown;

beforeEach(() => {
  calls = [];
  fetched = [];
  openCountMax = 0;
  answer = () => false;
});

const pool = {
  probe: async (files: readonly Probed[]) => {
    calls.push([...files]);
    return files.map(({ path }) => answer(path ?? '', calls.length));
  },
} as unknown as EnginePool;

function makeSegments(count: number): SealedSegment[] {
  return Array.from({ length: count }, (_, i) => ({ id: String(i) }) as SealedSegment);
}

const local = { segmentPath: ({ id }: SealedSegment) => id } as unknown as DatasetReader;

function makeRemote(): DatasetReader {
  let openCount = 0;
  return {
    remoteSegment: ({ id }: SealedSegment) => ({
      location: { kind: 'cached', path: id },
      fetch: async (ranges: unknown) => {
        openCount++;
        openCountMax = Math.max(openCountMax, openCount);
        await new Promise((resolve) => setImmediate(resolve));
        openCount--;
        fetched.push({ path: id, ranges });
      },
    }),
  } as unknown as DatasetReader;
}

async function find(
  candidates: SignatureCandidates,
  segments: readonly SealedSegment[],
  signal = new AbortController().signal,
): Promise<string[][]> {
  const found: string[][] = [];
  for await (const batch of candidates.find(segments, signature, signal)) {
    found.push(batch.map(({ id }) => id));
  }
  return found;
}

test('limit: batches double from the first size to the largest, and every segment is asked once', async () => {
  const count = 3 * probeCountMax;
  await find(new SignatureCandidates({ dataset: local, pool }), makeSegments(count));
  const sizes = calls.map(({ length }) => length);
  expect(sizes.slice(0, 3)).toEqual([probeCountFirst, probeCountFirst, 2 * probeCountFirst]);
  expect(Math.max(...sizes)).toBe(probeCountMax);
  expect(calls.flat().map(({ path }) => path)).toEqual(makeSegments(count).map(({ id }) => id));
});

test('behavior: local segments are asked by path, and those that can have the signature are returned', async () => {
  answer = (path) => path === '1' || path === '2';
  const candidates = new SignatureCandidates({ dataset: local, pool });
  expect(await find(candidates, makeSegments(3))).toEqual([['1', '2']]);
  expect(calls).toEqual([
    ['0', '1', '2'].map((path) => ({ kind: 'file', path, index: undefined })),
  ]);
  expect(await find(candidates, [])).toEqual([]);
});

test('behavior: the range of an index that was found is used the next time', async () => {
  const candidates = new SignatureCandidates({ dataset: local, pool });
  answer = (path) => ({ kind: 'located', index, canHave: path === '1' });
  const segments = makeSegments(2);
  expect(await find(candidates, segments)).toEqual([['1']]);
  await find(candidates, segments);
  expect(calls[1]?.map((file) => file.index)).toEqual([index, index]);
});

test('behavior: missing ranges are fetched, and only incomplete segments are asked again', async () => {
  const ranges = [{ start: 1, end: 2 }];
  answer = (path, call) =>
    path === '1' && call === 1 ? { kind: 'missing', ranges } : path === '1';
  const candidates = new SignatureCandidates({ dataset: makeRemote(), pool });
  expect(await find(candidates, makeSegments(3))).toEqual([['1']]);
  expect(calls.map((files) => files.map(({ path }) => path))).toEqual([['0', '1', '2'], ['1']]);
  expect(fetched).toEqual([{ path: '1', ranges }]);
});

test('limit: a segment that stays incomplete for three rounds is a candidate', async () => {
  answer = () => ({ kind: 'missing', ranges: [] });
  const candidates = new SignatureCandidates({ dataset: makeRemote(), pool });
  expect(await find(candidates, makeSegments(2))).toEqual([['0', '1']]);
  expect(calls).toHaveLength(3);
});

test('limit: segments are fetched in groups', async () => {
  answer = (_, call) => (call === 1 ? { kind: 'missing', ranges: [] } : false);
  const count = Math.min(probeCountFirst, probeFetchCountMax + 3);
  const candidates = new SignatureCandidates({ dataset: makeRemote(), pool });
  await find(candidates, makeSegments(count));
  expect(fetched).toHaveLength(count);
  expect(openCountMax).toBe(Math.min(count, probeFetchCountMax));
});

test('behavior: an abort ends the search before the next batch', async () => {
  const stop = new AbortController();
  answer = () => {
    stop.abort();
    return false;
  };
  const candidates = new SignatureCandidates({ dataset: local, pool });
  await expect(find(candidates, makeSegments(3 * probeCountFirst), stop.signal)).rejects.toThrow();
  expect(calls).toHaveLength(1);
});
