/** Limits and failures of lookups, with files and the engine's threads. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import { isCodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { afterAll, expect, test } from 'vitest';
import {
  type ChainSnapshot,
  emptySnapshot,
  type HotBlock,
  type SealedSegment,
} from '../../chain/chain-snapshot.ts';
import type { Allocate, DatasetReader } from '../../dataset/dataset-reader.ts';
import { parseTestQuery } from '../../engine/testing/arbitrary-query.ts';
import { EnginePool } from '../../engine/threads/engine-pool.ts';
import { locateSignatureIndex } from '../../segment/indexes/signature-index-range.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { sampleBlock } from '../../segment/testing/sample-block.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
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
  const signatures = locateSignatureIndex(openSegment(bytes));
  return { id, ...refs, ...counts, signatures } as unknown as SealedSegment;
}

/** One hot block for each block. The payload is its position. */
const hotBlocks: readonly HotBlock[] = blocks.map(({ header }, payload) => ({ header, payload }));

/** The segments of every dataset are opened once in the pool. */
let datasetCount = 0;

function lookupsOf(chain: Partial<ChainSnapshot>) {
  const last = blocks.at(-1)?.header;
  const head = last === undefined ? null : { number: last.number, hash: last.hash };
  let snapshot: ChainSnapshot = { ...emptySnapshot, start: 0 as Slot, head, segments, ...chain };
  const damages: string[] = [];
  let leaseCount = 0;
  const dataset = {
    description: { name: `dataset ${datasetCount++}` },
    acquire: () => {
      leaseCount++;
      return { snapshot, release: () => leaseCount-- };
    },
    segmentPath: ({ id }: SealedSegment) => join(folder, id),
    readHotBlock: async ({ payload }: HotBlock, allocate: Allocate) => {
      const stored = buildSegment(blocks.slice(payload, payload + 1));
      const copy = allocate(stored.length);
      copy.set(stored);
      return copy;
    },
    readHeaders: async ({ first }: SealedSegment) => [first],
    reportDamage: ({ id }: SealedSegment) => damages.push(id),
  } as unknown as DatasetReader;
  const owned = new DatasetSegments({ dataset, pool });
  const evaluator = new EngineEvaluator({ pool, segments: owned });
  const lookups = new DatasetLookups({ dataset, evaluator, segments: owned, pool });
  /** Replaces the list of segments, as a commit does. */
  const change = (next: readonly SealedSegment[]) => {
    snapshot = { ...snapshot, segments: next };
  };
  return { lookups, damages, leaseCount: () => leaseCount, change };
}

const signatureOf = (block: Block | undefined) =>
  decodeBase58(block?.transactions[0]?.signatures[0] ?? '') as Uint8Array;

/** Looks a transaction of the block up. Returns the slot of the answer, or the code of the error. */
async function findSlot(
  lookups: DatasetLookups,
  block: Block | undefined,
): Promise<number | string> {
  try {
    const { value } = await lookups.transaction(signatureOf(block), signal);
    return (JSON.parse(value) as { header: { number: number } }).header.number;
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return error.code;
  }
}

const nowhere = new Uint8Array(32).fill(7);

test('limit: one request for an account searches 64 segments and returns where to continue', async () => {
  const { lookups, leaseCount } = lookupsOf({});
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
  const { lookups } = lookupsOf({});
  const { value } = await lookups.activity({ limit: 5 }, signal);
  expect(value.isComplete).toBe(false);
  expect([value.fromBlock, value.toBlock, value.blocks]).toEqual([236, 299, 64]);
});

test('limit: an estimate over more than 256 segments extrapolates from a sample', async () => {
  const { lookups } = lookupsOf({});
  const query = { fromBlock: 0, transactions: [{}] };
  const { value } = await lookups.estimate(parseTestQuery(query), signal);
  const total = blocks.reduce((sum, { transactions }) => sum + transactions.length, 0);
  expect(value.isSampled).toBe(true);
  expect(value.segments).toEqual({ total: 300, examined: 256, withCandidates: expect.any(Number) });
  expect(value.blocks.total).toBe(300);
  expect(Math.abs(value.transactions.toExamine - total)).toBeLessThan(total / 10);
});

test('behavior: before the first segment is sealed, the bounds of an estimate hold for all hot blocks', async () => {
  const { lookups, leaseCount } = lookupsOf({ segments: [], hot: hotBlocks });
  const [instruction] = sampleBlock(7).instructions;
  const queries: Parameters<typeof parseTestQuery>[0][] = [
    { fromBlock: 0, logs: [{}] },
    { fromBlock: 3, toBlock: 290, transactions: [{ logs: true }] },
    { fromBlock: 0, instructions: [{ programId: [instruction?.programId ?? ''] }] },
    { fromBlock: 0, includeAllBlocks: true },
  ];
  for (const query of queries.map(parseTestQuery)) {
    const { value } = await lookups.estimate(query, signal);
    const exact = (await lookups.count(query, signal)).value;
    expect(value.isSampled).toBe(false);
    for (const name of ['blocks', ...RECORD_ARRAY_NAMES] as const) {
      const { min, max } = value.bounds[name];
      expect(min, name).toBeLessThanOrEqual(exact[name]);
      expect(max, name).not.toBeNull();
      expect(max ?? 0, name).toBeGreaterThanOrEqual(exact[name]);
    }
    const isSelective = query.instructions.length > 0;
    if (!isSelective) for (const { min, max } of Object.values(value.bounds)) expect(min).toBe(max);
    if (isSelective) expect(value.bounds.logs).toEqual({ min: 0, max: 0 });
  }
  expect(leaseCount()).toBe(0);
});

test('limit: a count reads at most 64 segments at a time, and the parts of a range add up', async () => {
  const { lookups, leaseCount } = lookupsOf({});
  const ends: number[] = [];
  let [fromBlock, sum] = [3, 0];
  for (let isComplete = false; !isComplete; ) {
    const query = parseTestQuery({ fromBlock, toBlock: 280, logs: [{ transaction: true }] });
    const { value } = await lookups.count(query, signal);
    sum += value.logs;
    ends.push(value.toBlock);
    fromBlock = value.toBlock + 1;
    ({ isComplete } = value);
  }
  expect(ends).toEqual([66, 130, 194, 258, 280]);
  const inRange = blocks.filter(({ header }) => header.number >= 3 && header.number <= 280);
  expect(sum).toBe(inRange.reduce((count, { logs }) => count + logs.length, 0));
  expect(leaseCount()).toBe(0);
});

test('limit: coverage describes 64 segments at a time, and continues without a gap', async () => {
  const apart = segments.filter((_, i) => i % 2 === 0);
  const { lookups } = lookupsOf({ segments: apart, finalized: blocks[298]?.header ?? null });
  const slots: [number, string][] = [];
  let [from, requestCount] = [0, 0];
  for (let isComplete = false; !isComplete; requestCount++) {
    const { value } = await lookups.coverage({ from, to: 310 });
    for (const range of value.ranges)
      for (let slot = range.from; slot <= range.to; slot++) slots.push([slot, range.state]);
    from = value.toBlock + 1;
    ({ isComplete } = value);
  }
  expect(requestCount).toBe(3);
  const stateOf = (slot: number) => {
    if (slot > 299) return 'missing';
    if (slot > 298) return 'notFinal';
    return slot % 2 === 0 ? 'stored' : 'skipped';
  };
  expect(slots).toEqual(Array.from({ length: 311 }, (_, slot) => [slot, stateOf(slot)]));
});

test('limit: a count reads segments up to a number of bytes, and at least one', async () => {
  const large = segments.map((segment) => ({ ...segment, byteLength: (1 << 30) / 2 }));
  const { lookups } = lookupsOf({ segments: large });
  const query = parseTestQuery({ fromBlock: 0, logs: [{ transaction: true }] });
  expect((await lookups.count(query, signal)).value).toMatchObject({ toBlock: 1, blocks: 2 });
  const larger = segments.map((segment) => ({ ...segment, byteLength: 2 ** 31 }));
  const { lookups: others } = lookupsOf({ segments: larger });
  expect((await others.count(query, signal)).value).toMatchObject({ toBlock: 0 });
});

test('error: segment-damaged raises an alarm and releases the snapshot', async () => {
  const bytes = buildSegment([sampleBlock(500)]);
  bytes.fill(0xff, bytes.length - 60);
  writeFileSync(join(folder, 'damaged'), bytes);
  const damaged = { ...(segments[0] as SealedSegment), id: 'damaged' };
  const { lookups, damages, leaseCount } = lookupsOf({ segments: [damaged] });
  const looking = lookups.transaction(new Uint8Array(64).fill(1), signal);
  await expect(looking).rejects.toSatisfy((error) => isCodedError(error, 'segment-damaged'));
  expect(damages).toEqual(['damaged']);
  expect(leaseCount()).toBe(0);
});

test('behavior: a client that disconnects ends its lookup before the next segments', async () => {
  const { lookups, leaseCount } = lookupsOf({});
  const gone = AbortSignal.abort();
  const looking = lookups.transaction(new Uint8Array(64).fill(1), gone);
  await expect(looking).rejects.toBe(gone.reason);
  expect(leaseCount()).toBe(0);
});

test('error: slot-below-start, range-unavailable, dataset-starting', async () => {
  const later = lookupsOf({ start: 10 as Slot }).lookups;
  await expect(later.block(9, signal)).rejects.toSatisfy((error) =>
    isCodedError(error, 'slot-below-start'),
  );
  await expect(later.activity({ from: 9, limit: 1 }, signal)).rejects.toSatisfy((error) =>
    isCodedError(error, 'range-unavailable'),
  );
  const starting = lookupsOf({ start: null }).lookups;
  await expect(starting.block(9, signal)).rejects.toSatisfy((error) =>
    isCodedError(error, 'dataset-starting'),
  );
});

test('default: a transaction that is 256 segments below the head is found', async () => {
  const { lookups } = lookupsOf({});
  const [signature = ''] = blocks[44]?.transactions[0]?.signatures ?? [];
  const { value } = await lookups.transaction(decodeBase58(signature) as Uint8Array, signal);
  expect(JSON.parse(value)).toMatchObject({
    header: { number: 44 },
    transactions: [{ signatures: blocks[44]?.transactions[0]?.signatures }],
  });
});

/** Blocks whose signatures differ in every slot; those of `sampleBlock` repeat after 256. */
function uniqueBlock(slot: number): Block {
  const bytes = new Uint8Array(64);
  new DataView(bytes.buffer).setUint32(0, slot);
  const block = sampleBlock(slot);
  const signatures = [encodeBase58(bytes) as Block['transactions'][0]['signatures'][0]];
  return { ...block, transactions: block.transactions.map((one) => ({ ...one, signatures })) };
}

test('default: a transaction is found in any of 2,000 segments, also if the list of segments lacks the positions of their indexes', async () => {
  const many = Array.from({ length: 2_000 }, (_, slot) => uniqueBlock(slot));
  const sealed = many.map((block) => sealAs(`many-${block.header.number}`, [block]));
  const older = sealed.map(({ signatures: _, ...segment }) => segment);
  for (const list of [sealed, older]) {
    const { lookups } = lookupsOf({ segments: list });
    for (const slot of [1_999, 1_998, 1_900, 1_000, 1, 0])
      expect(await findSlot(lookups, many[slot])).toBe(slot);
    expect(await findSlot(lookups, uniqueBlock(2_000))).toBe('transaction-unknown');
  }
});

test('behavior: transactions are found correctly after segments were merged, replaced or removed', async () => {
  const own = [700, 701, 702, 703].map(uniqueBlock);
  const [a, b, c, d] = own as [Block, Block, Block, Block];
  const parts = own.map((block) => sealAs(`part-${block.header.number}`, [block]));
  const withoutPlace = parts.map(({ signatures: _, ...segment }) => segment);
  const { lookups, change, damages } = lookupsOf({ segments: withoutPlace });
  expect(await Promise.all(own.map((one) => findSlot(lookups, one)))).toEqual([700, 701, 702, 703]);
  // A merge: the files of the parts are gone.
  const merged = sealAs('merged', [a, b, c]);
  for (const { id } of parts.slice(0, 3)) rmSync(join(folder, id));
  change([merged, parts[3] as SealedSegment]);
  expect(await Promise.all(own.map((one) => findSlot(lookups, one)))).toEqual([700, 701, 702, 703]);
  // A replacement: another segment has the slot.
  const replaced = sealAs('replaced', [uniqueBlock(903)]);
  rmSync(join(folder, parts[3]?.id ?? ''));
  change([merged, replaced]);
  expect(await findSlot(lookups, d)).toBe('transaction-unknown');
  expect(await findSlot(lookups, uniqueBlock(903))).toBe(903);
  // Retention removes a segment.
  rmSync(join(folder, 'merged'));
  change([replaced]);
  expect(await findSlot(lookups, a)).toBe('transaction-unknown');
  expect(damages).toEqual([]);
});

test('error: segment-damaged, and not transaction-unknown, if the signature index is damaged', async () => {
  const block = uniqueBlock(800);
  const segment = sealAs('damaged-index', [block]);
  const bytes = readFileSync(join(folder, 'damaged-index'));
  const { offset = 0, plainBytes = 0 } = segment.signatures ?? {};
  writeFileSync(join(folder, 'damaged-index'), bytes.fill(0, offset, plainBytes));
  const { lookups, damages } = lookupsOf({ segments: [segment] });
  expect(await findSlot(lookups, block)).toBe('segment-damaged');
  expect(damages).toEqual(['damaged-index']);
});

test('error: segment-missing if the file of a segment is missing', async () => {
  const segment = sealAs('missing', [uniqueBlock(801)]);
  rmSync(join(folder, 'missing'));
  const { lookups, damages } = lookupsOf({ segments: [segment] });
  expect(await findSlot(lookups, uniqueBlock(1))).toBe('segment-missing');
  expect(damages).toEqual(['missing']);
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
  const { lookups } = lookupsOf({ segments: mixed });
  const { value } = await lookups.activity({ limit: 100 }, signal);
  expect(value.discriminators).toEqual([
    { programId: instruction?.programId, discriminator: '0x0709', transactions: 2 },
  ]);
});
