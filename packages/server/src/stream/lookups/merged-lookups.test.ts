/** How the results of segments are put together, with lookups that a test answers. */
import { mapKeys } from '@sluice/protocol/typed-keys';
import { beforeEach, describe, expect, test } from 'vitest';
import { applyChanges } from '../../chain/apply-changes.ts';
import { emptySnapshot } from '../../chain/chain-snapshot.ts';
import { hash, makeRun, noLists, sealRun, slot } from '../../chain/testing/chain-fixtures.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { ROW_NUMBER_NAMES } from '../../engine/lookup/estimate-segment.ts';
import { parseTestQuery } from '../../engine/testing/arbitrary-query.ts';
import { countActivity } from './count-activity.ts';
import { estimateQuery } from './estimate-query.ts';
import { listAccountTransactions } from './list-account-transactions.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import {
  blockCountOf,
  firstSlotOf,
  lastSlotOf,
  newestParts,
  type SnapshotPart,
  sampleHotBlocks,
  sampleSegments,
} from './snapshot-parts.ts';

const run = makeRun(
  'a',
  Array.from({ length: 8 }, (_, i) => 10 + 2 * i),
  {
    number: 9,
    hash: 'a9',
    height: 1,
  },
);
/** The segments 10 to 12, 14 to 16 and 18, and the hot blocks 20, 22 and 24. */
const snapshot = applyChanges(emptySnapshot, [
  { kind: 'create', anchor: { number: slot(9), hash: hash('a9') } },
  {
    kind: 'append-sealed',
    segments: [sealRun(run.slice(0, 2)), sealRun(run.slice(2, 4)), sealRun(run.slice(4, 5))],
  },
  { kind: 'extend', blocks: run.slice(5) },
]);
const { signal } = new AbortController();
const slotsOf = (parts: readonly SnapshotPart[]) => parts.map(firstSlotOf);

/** A chain of this many segments with one block each, or of hot blocks, from slot 10. */
function chainOf(count: number, kind: 'append-sealed' | 'extend' = 'append-sealed') {
  const blocks = makeRun(
    'a',
    Array.from({ length: count }, (_, i) => 10 + i),
    {
      number: 9,
      hash: 'a9',
      height: 1,
    },
  );
  return applyChanges(emptySnapshot, [
    { kind: 'create', anchor: { number: slot(9), hash: hash('a9') } },
    kind === 'extend'
      ? { kind, blocks }
      : { kind, segments: blocks.map((block) => sealRun([block])) },
  ]);
}

interface Call {
  readonly parts: readonly SnapshotPart[];
  readonly lookup: { readonly kind: string; readonly [key: string]: unknown };
}

let calls: Call[];
let answer: (part: SnapshotPart, lookup: Call['lookup']) => unknown;
beforeEach(() => {
  calls = [];
});

const lookups = {
  readList: noLists,
  run: async (parts: readonly SnapshotPart[], lookup: Call['lookup']) => {
    calls.push({ parts, lookup });
    return parts.map((part) => answer(part, lookup));
  },
} as unknown as SegmentLookups;

describe('parts', () => {
  const unlimited = { segmentCountMax: 99, hotBlockCountMax: 99 };
  const partsOf = (first: number, last: number) =>
    newestParts(snapshot, { first, last }, unlimited, noLists);

  test.each([
    [0, 99, [10, 14, 18, 20, 22, 24]],
    [12, 13, [10]],
    [13, 13, []],
    [13, 14, [14]],
    [17, 20, [18, 20]],
    [19, 19, []],
    [20, 22, [20, 22]],
    [21, 23, [22]],
  ])(
    'default: slots %i to %i are in the parts that begin with %j',
    async (first, last, expected) => {
      const { parts, isCut } = await partsOf(first, last);
      expect([slotsOf(parts), isCut]).toEqual([expected, false]);
      const range = { first, last };
      const sealed = await sampleSegments(snapshot, range, 99, noLists);
      const hot = sampleHotBlocks(snapshot, range, 99);
      expect(slotsOf([...sealed.parts, ...hot.parts])).toEqual(expected);
      expect(sealed.partCount + hot.partCount).toBe(expected.length);
      const blockCount = parts.reduce((count, part) => count + blockCountOf(part), 0);
      expect(sealed.blockCount + hot.blockCount).toBe(blockCount);
    },
  );

  test('behavior: segments and blocks have their own first and last slot and count', async () => {
    const { parts } = await partsOf(14, 20);
    expect(parts.map(lastSlotOf)).toEqual([16, 18, 20]);
    expect(parts.map(blockCountOf)).toEqual([2, 1, 1]);
  });

  test.each([
    [9, 9, [10, 14, 18, 20, 22, 24]],
    [2, 9, [14, 18, 20, 22, 24]],
    [9, 3, [10, 14, 18, 20, 22, 24]],
    [9, 2, [22, 24]],
    [0, 9, [20, 22, 24]],
  ])(
    'limit: with at most %i segments and %i hot blocks the newest are taken',
    async (segmentCountMax, hotBlockCountMax, expected) => {
      const limits = { segmentCountMax, hotBlockCountMax };
      const { parts, isCut } = await newestParts(snapshot, { first: 0, last: 99 }, limits, noLists);
      expect([slotsOf(parts), isCut]).toEqual([expected, expected.length < 6]);
    },
  );
});

describe('activity', () => {
  const rows = (...counts: [address: string, count: number, prefix?: string][]) =>
    counts.map(([address, count, prefix]) => ({
      address,
      count,
      ...(prefix === undefined ? {} : { prefix }),
    }));
  let readHeadersOf: number[];
  const dataset = {
    readList: noLists,
    readHeaders: async ({ first }: { first: { number: number } }) => {
      readHeadersOf.push(first.number);
      return [{ hash: 'before' }];
    },
  } as unknown as DatasetReader;
  beforeEach(() => {
    readHeadersOf = [];
    answer = (part, { kind }) =>
      kind === 'prefixes'
        ? new Map([['program', firstSlotOf(part)]])
        : {
            blockCount: 2,
            transactionCount: 5,
            lastHashes: [`last ${firstSlotOf(part)}`],
            programs: { rows: rows(['b', 3], ['a', 3], ['c', 1]), isCut: false },
            discriminators: { rows: rows(['b', 2, '02'], ['b', 2, '01']), isCut: true },
            mints: { rows: rows(['m', 1]), isCut: firstSlotOf(part) === 14 },
            accounts: {
              rows: rows(['before', 9], ['last 14', 8], [hash('a20'), 7], ['x', 6]),
              isCut: false,
            },
          };
  });
  const count = (first: number, last: number, limit = 10, chain = snapshot) =>
    countActivity({ range: { first, last }, limit }, chain, { dataset, lookups }, signal);

  test('default: counts are added and sorted, greatest first, then by text', async () => {
    expect(await count(14, 18)).toEqual({
      fromBlock: 14,
      toBlock: 18,
      isComplete: true,
      blocks: 4,
      transactions: 10,
      programs: [
        { programId: 'a', transactions: 6 },
        { programId: 'b', transactions: 6 },
        { programId: 'c', transactions: 2 },
      ],
      discriminators: [
        { programId: 'b', discriminator: '0x01', transactions: 4 },
        { programId: 'b', discriminator: '0x02', transactions: 4 },
      ],
      mints: [{ mint: 'm', transactions: 2 }],
      // Hashes of blocks are not accounts: those before the range and the last ones of each segment.
      accounts: [
        { account: hash('a20'), transactions: 14 },
        { account: 'x', transactions: 12 },
      ],
      exact: { programs: true, discriminators: false, mints: false, accounts: true },
    });
    expect(readHeadersOf).toEqual([10]);
    expect(calls.map(({ lookup }) => lookup.kind)).toEqual(['prefixes', 'activity']);
    // The shortest length of all segments.
    const lengths = calls[1]?.lookup['prefixLengths'] as Map<string, number> | undefined;
    expect(lengths?.get('program')).toBe(14);
  });

  test('behavior: lists are cut at the limit, and hot blocks before the range are no accounts', async () => {
    const { programs, accounts } = await count(22, 24, 1);
    expect(programs).toEqual([{ programId: 'a', transactions: 6 }]);
    expect(accounts).toEqual([{ account: 'last 14', transactions: 16 }]);
    expect(readHeadersOf).toEqual([18]);
  });

  test('behavior: the first segment has none before it, and a range without blocks has nothing', async () => {
    await count(10, 12);
    expect(readHeadersOf).toEqual([]);
    expect(await count(13, 13)).toMatchObject({ blocks: 0, programs: [], isComplete: true });
  });

  test('limit: beyond the limit of segments the newest are counted, and the answer says from where', async () => {
    const chain = chainOf(LOOKUP_LIMITS.segmentCountMax + 2);
    expect(await count(5, 999, 10, chain)).toMatchObject({ fromBlock: 12, isComplete: false });
    const exactly = chainOf(LOOKUP_LIMITS.segmentCountMax);
    expect(await count(5, 999, 10, exactly)).toMatchObject({ fromBlock: 5, isComplete: true });
  });
});

describe('an estimate', () => {
  beforeEach(() => {
    answer = (part) => ({
      blockCount: blockCountOf(part),
      candidateBlockCount: firstSlotOf(part) % 4 === 2 ? 1 : 0,
      transactionCount: 10,
      candidateCount: 3,
      byteCount: 100,
      min: rows({ blocks: 0, logs: 2 }),
      max: rows({ blocks: 1, logs: 5 }),
    });
  });
  const rows = (some: object) => ({ ...mapKeys(ROW_NUMBER_NAMES, () => 0), ...some });
  const emptyEstimate = {
    ...{ candidateBlockCount: 0, transactionCount: 0, candidateCount: 0, byteCount: 0 },
    ...{ min: rows({}), max: rows({}) },
  };
  const estimate = (body: object, chain = snapshot) =>
    estimateQuery(parseTestQuery(body as { fromBlock: number }), chain, lookups, signal);

  test('default: the results of all segments are added', async () => {
    expect(await estimate({ fromBlock: 10 })).toEqual({
      fromBlock: 10,
      toBlock: 24,
      isSampled: false,
      segments: { total: 6, examined: 6, withCandidates: 4 },
      blocks: { total: 8, withCandidates: 4 },
      transactions: { total: 60, toExamine: 18 },
      bytesToRead: 600,
      bounds: {
        ...mapKeys(ROW_NUMBER_NAMES, () => ({ min: 0, max: 0 })),
        blocks: { min: 0, max: 6 },
        logs: { min: 12, max: 30 },
      },
    });
    expect(calls[0]?.lookup).toMatchObject({ kind: 'estimate', range: { first: 10, last: 24 } });
    expect(calls[0]?.lookup['selection']).not.toHaveProperty('fromBlock');
  });

  test('behavior: the range ends at toBlock or at the head, and without blocks everything is 0', async () => {
    expect(await estimate({ fromBlock: 14, toBlock: 18 })).toMatchObject({
      toBlock: 18,
      segments: { total: 2 },
    });
    expect(await estimate({ fromBlock: 14, toBlock: 99 })).toMatchObject({ toBlock: 24 });
    expect(await estimate({ fromBlock: 13, toBlock: 13 })).toMatchObject({
      blocks: { total: 0, withCandidates: 0 },
      bytesToRead: 0,
    });
    expect(await estimate({ fromBlock: 0 }, emptySnapshot)).toMatchObject({ toBlock: -1 });
  });

  test('limit: more segments than are examined are extrapolated from an even sample', async () => {
    const countMax = LOOKUP_LIMITS.estimateSegmentCountMax;
    const result = await estimate({ fromBlock: 10, logs: [{}] }, chainOf(2 * countMax));
    expect(result).toMatchObject({
      isSampled: true,
      segments: { total: 2 * countMax, examined: countMax },
      blocks: { total: 2 * countMax },
      transactions: { total: 20 * countMax, toExamine: 6 * countMax },
      // Any of the other blocks may have a line with any number of logs, and has no records that the query does not select.
      bounds: {
        ...mapKeys(ROW_NUMBER_NAMES, () => ({ min: 0, max: 0 })),
        blocks: { min: 0, max: 2 * countMax },
        logs: { min: 2 * countMax, max: null },
      },
    });
    const sampled = slotsOf(calls[0]?.parts ?? []);
    expect([sampled[0], sampled.at(-1)]).toEqual([10, 9 + 2 * countMax]);
    expect(new Set(sampled).size).toBe(countMax);
    const exact = calls[0]?.parts.filter((part) => firstSlotOf(part) % 4 === 2).length ?? 0;
    expect(result.segments.withCandidates).toBe(2 * exact);
    calls = [];
    expect((await estimate({ fromBlock: 10 }, chainOf(countMax))).isSampled).toBe(false);
  });

  test('behavior: beyond the limit, a query without items has at most 0 records, and related records have no limit', async () => {
    answer = () => ({ ...emptyEstimate, blockCount: 1 });
    const chain = chainOf(LOOKUP_LIMITS.estimateSegmentCountMax + 9);
    const none = mapKeys(ROW_NUMBER_NAMES, () => ({ min: 0, max: 0 }));
    expect((await estimate({ fromBlock: 10 }, chain)).bounds).toEqual(none);
    const all = await estimate({ fromBlock: 10, includeAllBlocks: true }, chain);
    expect(all.bounds).toEqual({ ...none, blocks: { min: 9, max: 9 } });
    const logs = [{ transaction: true, instruction: true }];
    const related = await estimate({ fromBlock: 10, logs }, chain);
    const unknown = { min: 0, max: null };
    expect(related.bounds).toEqual({
      ...none,
      ...{ logs: unknown, transactions: unknown, instructions: unknown },
      blocks: { min: 0, max: 9 },
    });
  });

  test('limit: hot blocks have a limit of their own and are extrapolated separately', async () => {
    const { estimateSegmentCountMax, estimateHotBlockCountMax: countMax } = LOOKUP_LIMITS;
    const hot = chainOf(countMax, 'extend');
    expect(countMax).toBeGreaterThan(estimateSegmentCountMax);
    expect(await estimate({ fromBlock: 10, logs: [{}] }, hot)).toMatchObject({
      isSampled: false,
      segments: { total: countMax, examined: countMax },
      bounds: { logs: { min: 2 * countMax, max: 5 * countMax } },
    });
    const more = chainOf(2 * countMax, 'extend');
    expect(await estimate({ fromBlock: 10, logs: [{}] }, more)).toMatchObject({
      isSampled: true,
      segments: { total: 2 * countMax, examined: countMax },
      transactions: { total: 20 * countMax, toExamine: 6 * countMax },
      bounds: { logs: { min: 2 * countMax, max: null } },
    });
  });
});

describe('the transactions of an account', () => {
  const address = new Uint8Array(32);
  beforeEach(() => {
    answer = (part, { kind, transactions }) => {
      const number = firstSlotOf(part);
      if (kind === 'records') return (transactions as number[]).map((one) => `${number} ${one}`);
      return [1, 0].map((ordinal) => ({ slot: number, ordinal, transaction: ordinal }));
    };
  });
  const list = (
    limit: number,
    before: { slot: number; ordinal: number } | null = null,
    chain = snapshot,
  ) =>
    listAccountTransactions(
      { address, before, limit },
      chain,
      { lookups, dataset: { readList: noLists } as unknown as DatasetReader },
      signal,
    );
  const searches = () => calls.filter(({ lookup }) => lookup.kind === 'mentions');

  test('default: the newest come first, and the next page starts after the last', async () => {
    expect(await list(3)).toEqual({
      lines: ['24 1', '24 0', '22 1'],
      next: { slot: 22, ordinal: 1 },
    });
    expect(searches().map(({ parts }) => slotsOf(parts))).toEqual([[24, 22, 20, 18]]);
    expect(searches()[0]?.lookup['countMax']).toBe(4);
  });

  test('behavior: the search goes on in larger batches until there is one more than asked for', async () => {
    const all = await list(12);
    expect(all.lines).toHaveLength(12);
    expect(all.next).toBeNull();
    expect(searches().map(({ parts }) => slotsOf(parts))).toEqual([
      [24, 22, 20, 18],
      [14, 10],
    ]);
    calls = [];
    expect((await list(8)).next).toEqual({ slot: 18, ordinal: 0 });
    expect(searches()).toHaveLength(2);
    calls = [];
    expect((await list(7)).lines).toHaveLength(7);
    expect(searches()).toHaveLength(1);
  });

  test('behavior: a page starts before its position, which may be the first of its slot', async () => {
    await list(1, { slot: 22, ordinal: 1 });
    expect(slotsOf(searches()[0]?.parts ?? [])[0]).toBe(22);
    calls = [];
    await list(1, { slot: 22, ordinal: 0 });
    expect(slotsOf(searches()[0]?.parts ?? [])[0]).toBe(20);
  });

  test('limit: after the limit of segments the next page starts with the oldest that was searched', async () => {
    answer = () => [];
    const { segmentCountMax } = LOOKUP_LIMITS;
    const page = await list(5, null, chainOf(segmentCountMax + 3));
    expect(page).toEqual({ lines: [], next: { slot: 13, ordinal: 0 } });
    expect(searches().map(({ parts }) => parts.length)).toEqual([4, 8, 16, 32, 4]);
    expect((await list(5, null, chainOf(segmentCountMax))).next).toBeNull();
  });

  test('behavior: more hot blocks than a request for activity counts do not end a page', async () => {
    answer = () => [];
    const count = LOOKUP_LIMITS.hotBlockCountMax + 1;
    const slots = Array.from({ length: count }, (_, i) => 26 + i);
    const above = makeRun('a', slots, { number: 24, hash: 'a24', height: run.length + 1 });
    const chain = applyChanges(snapshot, [{ kind: 'extend', blocks: above }]);
    expect(await list(5, null, chain)).toEqual({ lines: [], next: null });
  });
});
