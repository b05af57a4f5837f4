/** Limits and failures of lookups, with files and the engine's threads. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { decodeBase58, encodeBase58 } from '../../base/base58.ts';
import { isCodedError } from '../../base/errors.ts';
import {
  type ChainSnapshot,
  emptySnapshot,
  type SealedSegment,
} from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { EnginePool } from '../../engine/engine-pool.ts';
import { parseTestQuery } from '../../engine/testing/arbitrary-query.ts';
import type { Block } from '../../ledger/block.ts';
import type { Slot } from '../../ledger/primitives.ts';
import { buildSegment } from '../../segment/build-segment.ts';
import { sampleBlock } from '../../segment/testing/sample-block.ts';
import { DatasetSegments } from '../dataset-segments.ts';
import { EngineEvaluator } from '../engine-evaluator.ts';
import { DatasetLookups } from './dataset-lookups.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-dataset-lookups-'));
const pool = new EnginePool({ threadCount: 2, cacheBytesMax: 1 << 24 });
afterAll(async () => {
  await pool.stop();
  rmSync(folder, { recursive: true });
});

const { signal } = new AbortController();
const blocks = Array.from({ length: 300 }, (_, slot) => sampleBlock(slot));

/** One segment per block. */
const segments = blocks.map((block) => sealAs(`${block.header.number}.segment`, [block]));

/** Stores blocks as one segment. */
function sealAs(id: string, run: readonly Block[]): SealedSegment {
  const bytes = buildSegment(run);
  writeFileSync(join(folder, id), bytes);
  const refs = { first: run[0]?.header, last: run.at(-1)?.header };
  const counts = { blockCount: run.length, byteLength: bytes.length };
  return { id, ...refs, ...counts } as unknown as SealedSegment;
}

function lookupsOf(name: string, chain: Partial<ChainSnapshot>) {
  const last = blocks.at(-1)?.header;
  const head = last === undefined ? null : { number: last.number, hash: last.hash };
  const snapshot = { ...emptySnapshot, start: 0 as Slot, head, segments, ...chain };
  const damages: string[] = [];
  let leaseCount = 0;
  const dataset = {
    description: { name },
    acquire: () => {
      leaseCount++;
      return { snapshot, release: () => leaseCount-- };
    },
    segmentPath: ({ id }: SealedSegment) => join(folder, id),
    readHeaders: async ({ first }: SealedSegment) => [first],
    reportDamage: ({ id }: SealedSegment) => damages.push(id),
  } as unknown as DatasetReader;
  const owned = new DatasetSegments({ dataset, pool });
  const evaluator = new EngineEvaluator({ pool, segments: owned });
  const lookups = new DatasetLookups({ dataset, evaluator, segments: owned, pool });
  return { lookups, damages, leaseCount: () => leaseCount };
}

const nowhere = new Uint8Array(32).fill(7);

test('limit: one request for an account searches 64 segments and returns where to continue', async () => {
  const { lookups, leaseCount } = lookupsOf('bounded', {});
  let before = null;
  const steps: number[] = [];
  do {
    const request = { address: nowhere, before, limit: 5 };
    const { value } = await lookups.accountTransactions(request, signal);
    expect(value.lines).toEqual([]);
    before = value.next;
    if (before !== null) steps.push(before.slot);
  } while (before !== null);
  const { segmentCountMax } = LOOKUP_LIMITS;
  expect(steps).toEqual([1, 2, 3, 4].map((step) => blocks.length - step * segmentCountMax));
  expect(leaseCount()).toBe(0);
});

test('limit: activity of a longer range counts the newest 64 segments and reports it', async () => {
  const { lookups } = lookupsOf('counted', {});
  const { value } = await lookups.activity({ limit: 5 }, signal);
  expect(value.isComplete).toBe(false);
  expect([value.fromBlock, value.toBlock, value.blocks]).toEqual([236, 299, 64]);
});

test('limit: an estimate over more than 256 segments extrapolates from a sample', async () => {
  const { lookups } = lookupsOf('sampled', {});
  const query = { fromBlock: 0, transactions: [{}] };
  const { value } = await lookups.estimate(parseTestQuery(query), signal);
  const total = blocks.reduce((sum, { transactions }) => sum + transactions.length, 0);
  expect(value.isSampled).toBe(true);
  expect(value.segments).toEqual({ total: 300, examined: 256, withCandidates: expect.any(Number) });
  expect(value.blocks.total).toBe(300);
  expect(Math.abs(value.transactions.toExamine - total)).toBeLessThan(total / 10);
});

test('error: segment-damaged raises an alarm and releases the snapshot', async () => {
  const bytes = buildSegment([sampleBlock(500)]);
  bytes.fill(0xff, bytes.length - 60);
  writeFileSync(join(folder, 'damaged'), bytes);
  const damaged = { ...(segments[0] as SealedSegment), id: 'damaged' };
  const { lookups, damages, leaseCount } = lookupsOf('damaged', { segments: [damaged] });
  const looking = lookups.transaction(new Uint8Array(64).fill(1), signal);
  await expect(looking).rejects.toSatisfy((error) => isCodedError(error, 'segment-damaged'));
  expect(damages).toEqual(['damaged']);
  expect(leaseCount()).toBe(0);
});

test('behavior: a client that disconnects ends its lookup before the next segments', async () => {
  const { lookups, leaseCount } = lookupsOf('gone', {});
  const gone = AbortSignal.abort();
  const looking = lookups.transaction(new Uint8Array(64).fill(1), gone);
  await expect(looking).rejects.toBe(gone.reason);
  expect(leaseCount()).toBe(0);
});

test('error: slot-below-start, range-unavailable, dataset-starting', async () => {
  const later = lookupsOf('later', { start: 10 as Slot }).lookups;
  await expect(later.block(9, signal)).rejects.toSatisfy((error) =>
    isCodedError(error, 'slot-below-start'),
  );
  await expect(later.activity({ from: 9, limit: 1 }, signal)).rejects.toSatisfy((error) =>
    isCodedError(error, 'range-unavailable'),
  );
  const starting = lookupsOf('starting', { start: null }).lookups;
  await expect(starting.block(9, signal)).rejects.toSatisfy((error) =>
    isCodedError(error, 'dataset-starting'),
  );
});

test('default: a transaction that is 256 segments below the head is found', async () => {
  const { lookups } = lookupsOf('found', {});
  const [signature = ''] = blocks[44]?.transactions[0]?.signatures ?? [];
  const { value } = await lookups.transaction(decodeBase58(signature) as Uint8Array, signal);
  expect(JSON.parse(value)).toMatchObject({
    header: { number: 44 },
    transactions: [{ signatures: blocks[44]?.transactions[0]?.signatures }],
  });
});

test('behavior: discriminators have the shortest length of all segments in the range, so that counts can be added', async () => {
  const [instruction] = sampleBlock(0).instructions;
  const withData = (slot: number, count: number): Block => ({
    ...sampleBlock(slot),
    logs: [],
    instructions: Array.from({ length: count }, (_, i) => ({
      ...(instruction as Block['instructions'][number]),
      instructionAddress: [i],
      data: encodeBase58(Uint8Array.of(7, 9, i >> 8, i & 0xff, 1, 2, 3, 4, 5)),
    })),
  });
  // One segment has 300 different prefixes of 4 bytes, so it keeps 2 bytes. The other one has 8.
  const mixed = [sealAs('many', [withData(0, 300)]), sealAs('few', [withData(1, 2)])];
  const { lookups } = lookupsOf('mixed', { segments: mixed });
  const { value } = await lookups.activity({ limit: 100 }, signal);
  expect(value.discriminators).toEqual([
    { programId: instruction?.programId, discriminator: '0x0709', transactions: 2 },
  ]);
});
