/** Segments in an object store: what a search for a signature fetches. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBase58 } from '@sluice/base/base58';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { EnginePool } from '../../engine/threads/engine-pool.ts';
import { ObjectCache } from '../../object-store/object-cache.ts';
import { MemoryStore } from '../../object-store/testing/memory-store.ts';
import { locateSignatureIndex } from '../../segment/indexes/signature-index-range.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { SignatureCandidates } from './signature-candidates.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-signature-candidates-'));
const pool = new EnginePool({ threadCount: 2, cacheBytesMax: 1 << 24, readsStore: true });
afterAll(async () => {
  await pool.stop();
  rmSync(folder, { recursive: true });
});

const { signal } = new AbortController();
const content = { transactionsPerBlock: 250, votes: 0 };
const blocks = simulatedBlocks({ content, firstSlot: 100, blockCount: 12 });
const bytes = buildSegment(blocks);
const signatures = locateSignatureIndex(openSegment(bytes));
const present = decodeBase58(blocks[3]?.transactions[9]?.signatures[0] ?? '') as Uint8Array;
/** Different bytes for each number. */
const absent = (number: number) => new Uint8Array(64).map((_, i) => (i * 31 + number * 97) & 0xff);

const segmentCount = 6;
const segments = Array.from(
  { length: segmentCount },
  (_, i) => ({ id: `${i}.segment`, byteLength: bytes.length, signatures }) as SealedSegment,
);

let store: MemoryStore;
let candidates: SignatureCandidates;
let cache: ObjectCache;

beforeEach(async () => {
  store = new MemoryStore();
  for (const { id } of segments) await store.put(id, bytes);
  const options = { folder: mkdtempSync(join(folder, 'cache-')), bytesMax: 1 << 26 };
  cache = await ObjectCache.open(
    { ...options, requestCountMax: 4 },
    { store, clock: new ManualClock(), fs: nodeFs },
  );
  const dataset = {
    remoteSegment: ({ id, byteLength }: SealedSegment) => {
      const cached = cache.use(id, id, byteLength);
      return { location: cached.location, fetch: cached.fetch.bind(cached) };
    },
  } as unknown as DatasetReader;
  candidates = new SignatureCandidates({ dataset, pool });
});

afterEach(() => cache.close());

async function find(signature: Uint8Array, of: readonly SealedSegment[] = segments) {
  const found: string[] = [];
  for await (const batch of candidates.find(of, signature, signal))
    found.push(...batch.map(({ id }) => id));
  return found;
}

/** Runs an action. Returns how many requests it sent to the store. */
async function countRequests(act: () => Promise<unknown>): Promise<number> {
  const isGet = (call: string) => call.startsWith('get');
  const before = store.calls.filter(isGet).length;
  await act();
  return store.calls.filter(isGet).length - before;
}

test('limit: a search sends at most three requests to the store for a segment, and none when it is repeated', async () => {
  expect(bytes.length).toBeGreaterThan(1 << 20);
  const first = await countRequests(() => find(absent(1)));
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThanOrEqual(3 * segmentCount);
  expect(await countRequests(() => find(absent(1)))).toBe(0);
});

test('default: the segments that have the signature are candidates', async () => {
  expect(await find(present)).toEqual(segments.map(({ id }) => id));
  const others = await Promise.all(Array.from({ length: 20 }, (_, i) => find(absent(i))));
  expect(others.filter((found) => found.length === 0).length).toBeGreaterThan(15);
});

test('behavior: a segment whose description lacks the position of its index is a candidate, and nothing is fetched for it', async () => {
  const older = segments.map(({ signatures: _, ...segment }) => segment);
  const requests = await countRequests(async () => {
    expect(await find(absent(1), older)).toHaveLength(segmentCount);
  });
  expect(requests).toBe(0);
});

test('behavior: a single candidate is not probed, because the lookup in it begins with the same reads', async () => {
  const requests = await countRequests(async () => {
    expect(await find(absent(1), segments.slice(0, 1))).toHaveLength(1);
  });
  expect(requests).toBe(0);
});

test('behavior: bytes that the store distorts exclude no segment', async () => {
  store.distort = (_key, part) => part.fill(0);
  expect(await find(absent(1))).toHaveLength(segmentCount);
});

test('error: store-unreachable ends the search', async () => {
  store.isDown = true;
  await expect(find(absent(1))).rejects.toMatchObject({ code: 'store-unreachable' });
});
