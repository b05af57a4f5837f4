/** The rules of groups at the head, with waiters and evaluations that a test controls. */

import type { BlockRef } from '@sluice/ledger/block';
import { toSlot } from '@sluice/ledger/primitives';
import { beforeEach, expect, test } from 'vitest';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { batchBytesMax } from './block-collector.ts';
import type { EvaluatedBlocks } from './block-evaluator.ts';
import { HeadGroups, type HeadNews, type HeadPosition, type HeadWaiter } from './head-groups.ts';
import { LinePiece } from './line-piece.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import { STREAM_LIMITS } from './stream-limits.ts';
import { settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';

const selection = parseTestQuery({ fromBlock: 0 });
const other = parseTestQuery({ fromBlock: 0, rewards: [{}] });
const limits = { ...STREAM_LIMITS, sharedSlotCountMax: 10, wakeSliceCount: 2 };

type EvaluationRange = Parameters<SharedEvaluations['evaluateSome']>[0];

let dataset: MemoryDataset;
let groups: HeadGroups;
let ranges: EvaluationRange[];
/** Answers an evaluation. By default the last block without a line. */
let evaluate: (range: EvaluationRange) => Promise<{ blocks: EvaluatedBlocks[]; last: number }>;

beforeEach(() => {
  dataset = new MemoryDataset();
  dataset.extend([0, 1, 2]);
  ranges = [];
  evaluate = async ({ last }) => ({ blocks: [evaluated(last)], last });
  const shared = {
    idOf: (one: typeof selection) => (one === selection ? 1 : 2),
    evaluateSome: (range: EvaluationRange) => {
      ranges.push(range);
      return evaluate(range);
    },
  } as unknown as SharedEvaluations;
  groups = new HeadGroups(limits, { dataset, shared });
});

function evaluated(slot: number, ...sizes: readonly number[]): EvaluatedBlocks {
  const piece = sizes.length === 0 ? null : new LinePiece(...sizes.map((n) => new Uint8Array(n)));
  const { hash } = dataset.snapshot().hot.find(({ header }) => header.number === slot)?.header ?? {
    hash: dataset.snapshot().head?.hash as BlockRef['hash'],
  };
  const headerLine = () => new LinePiece();
  return { piece, lastCovered: { number: toSlot(slot), hash }, endsWithLine: false, headerLine };
}

class TestWaiter implements HeadWaiter {
  readonly taken: HeadNews[] = [];
  settledCount = 0;
  staysInGroup = true;

  take(news: HeadNews): boolean {
    this.taken.push(news);
    return this.staysInGroup;
  }

  settle(): void {
    this.settledCount++;
  }
}

function positionAtHead(changes: Partial<HeadPosition> = {}): HeadPosition {
  const covered = dataset.snapshot().head as BlockRef;
  const next = covered.number + 1;
  return { selection, finalizedOnly: false, covered, next, isDeflated: false, ...changes };
}

function join(changes: Partial<HeadPosition> = {}) {
  const waiter = new TestWaiter();
  const leave = groups.join(positionAtHead(changes), dataset.snapshot().version, waiter);
  return { waiter, leave };
}

async function grow(...slots: number[]): Promise<void> {
  dataset.extend(slots);
  groups.advance();
  await settle();
}

test('default: a group is evaluated once, from its position to the head', async () => {
  const [first, second] = [join(), join()];
  await grow(4);
  expect(ranges).toMatchObject([{ selection, first: 3, last: 4, isDeflated: false }]);
  expect(first.waiter.taken).toEqual(second.waiter.taken);
  const { version } = dataset.snapshot();
  expect(first.waiter.taken).toMatchObject([{ last: 4, version }]);
  await grow(5);
  expect(ranges[1]).toMatchObject({ first: 5, last: 5 });
  expect(first.waiter.settledCount).toBe(0);
  expect(dataset.leaseCount).toBe(0);
});

test('behavior: other queries and streams of finalized blocks are other groups', async () => {
  const readers = [join(), join({ selection: other }), join({ finalizedOnly: true })];
  expect(readers.map(({ leave }) => leave)).not.toContain(undefined);
  await grow(3);
  expect(ranges.map((range) => range.selection)).toEqual([selection, other]);
  expect(readers.map(({ waiter }) => waiter.taken.length)).toEqual([1, 1, 0]);
  dataset.finalize(3);
  groups.advance();
  await settle();
  expect(readers.map(({ waiter }) => waiter.taken.length)).toEqual([1, 1, 1]);
});

test('behavior: a stream at another block or another next slot does not join the group', () => {
  join();
  const covered = dataset.snapshot().hot[1]?.header as BlockRef;
  expect(join({ covered }).leave).toBeUndefined();
  expect(join({ next: 7 }).leave).toBeUndefined();
  expect(join().leave).toBeDefined();
});

test('behavior: a waiter that left gets nothing, and an empty group is removed', async () => {
  const { waiter, leave } = join();
  leave?.();
  await grow(3);
  expect([waiter.taken, ranges]).toEqual([[], []]);
  // The group with the old position is gone, so a stream at the new position has one of its own.
  expect(join().leave).toBeDefined();
});

test('behavior: a waiter that declines is woken and leaves the group', async () => {
  const [declining, staying] = [join().waiter, join().waiter];
  declining.staysInGroup = false;
  await grow(3);
  await grow(4);
  expect([declining.taken.length, declining.settledCount]).toEqual([1, 1]);
  expect([staying.taken.length, staying.settledCount]).toEqual([2, 0]);
});

test('behavior: a waiter that leaves while others are served is not served again', async () => {
  const { waiter, leave } = join();
  await grow(3);
  leave?.();
  await grow(4);
  expect(waiter.taken).toHaveLength(1);
});

test('behavior: finalized blocks alone are no news', async () => {
  const { waiter } = join();
  dataset.finalize(2);
  groups.advance();
  await settle();
  expect([ranges, waiter.taken, waiter.settledCount]).toEqual([[], [], 0]);
  await grow(3);
  expect(waiter.taken).toHaveLength(1);
});

test('behavior: an evaluation that covers only a part is continued', async () => {
  const { waiter } = join();
  evaluate = async ({ first }) => ({ blocks: [evaluated(first)], last: first });
  await grow(3, 4, 5);
  expect(ranges.map(({ first, last }) => [first, last])).toEqual([
    [3, 5],
    [4, 5],
    [5, 5],
  ]);
  const { version } = dataset.snapshot();
  expect(waiter.taken.map((news) => news.version)).toEqual([null, null, version]);
});

test('behavior: while a group is evaluated, another change starts no second evaluation', async () => {
  const { waiter } = join();
  let finish = () => {};
  evaluate = ({ last }) =>
    new Promise((resolve) => {
      finish = () => resolve({ blocks: [evaluated(last)], last });
    });
  await grow(3);
  await grow(4);
  expect(ranges).toHaveLength(1);
  finish();
  await settle();
  expect(ranges.map(({ last }) => last)).toEqual([3, 4]);
  finish();
  await settle();
  expect(waiter.taken.map(({ last }) => last)).toEqual([3, 4]);
});

test('behavior: a failed evaluation wakes all streams, which meet the failure themselves', async () => {
  const { waiter } = join();
  evaluate = () => Promise.reject(new TypeError('unreadable'));
  await grow(3);
  expect([waiter.taken, waiter.settledCount, dataset.leaseCount]).toEqual([[], 1, 0]);
});

test('limit: a gap of as many slots as are shared wakes the streams, one less does not', async () => {
  const { waiter } = join();
  await grow(12);
  expect([waiter.taken.length, waiter.settledCount]).toEqual([1, 0]);
  await grow(23);
  expect([waiter.taken.length, waiter.settledCount]).toEqual([1, 1]);
});

test('behavior: a trim wakes the streams only if it removed their next slot', async () => {
  const { waiter } = join();
  dataset.extend([3, 4]);
  dataset.finalize(4);
  dataset.seal(2);
  dataset.trim(3);
  expect(dataset.snapshot().start).toBe(3);
  groups.advance();
  await settle();
  expect([waiter.taken.length, waiter.settledCount]).toEqual([1, 0]);
  dataset.extend([5, 6, 7]);
  dataset.finalize(7);
  dataset.seal(6);
  dataset.trim(7);
  expect(dataset.snapshot().start).toBe(7);
  groups.advance();
  await settle();
  expect([waiter.taken.length, waiter.settledCount]).toEqual([1, 1]);
});

test('behavior: a fork wakes the streams only if it replaced the block they have covered', async () => {
  const { waiter } = join();
  dataset.extend([3]);
  dataset.fork(2, [4], 'b');
  groups.advance();
  await settle();
  expect([waiter.taken.at(-1)?.last, waiter.settledCount]).toEqual([4, 0]);
  dataset.fork(2, [5], 'c');
  groups.advance();
  await settle();
  expect([waiter.taken.length, waiter.settledCount]).toEqual([1, 1]);
});

test('limit: pieces are joined up to the size of a batch; longer ones are sent one by one', async () => {
  const { waiter } = join();
  const sizes = [batchBytesMax / 2, batchBytesMax / 2];
  const piecesOf = () => waiter.taken.at(-1)?.blocks.map(({ piece }) => piece?.byteLength ?? 0);
  evaluate = async ({ first, last }) => ({
    blocks: [evaluated(first, ...sizes.slice(0, 1)), evaluated(last, ...sizes.slice(1))],
    last,
  });
  await grow(3, 4);
  expect(piecesOf()).toEqual([batchBytesMax]);
  sizes[1] = batchBytesMax / 2 + 1;
  await grow(5, 6);
  expect(piecesOf()).toEqual([batchBytesMax / 2, batchBytesMax / 2 + 1]);
  expect(waiter.taken.at(-1)?.blocks.at(-1)?.lastCovered.number).toBe(6);
  sizes.splice(0);
  await grow(7, 8);
  expect(waiter.taken.at(-1)?.blocks.map(({ piece }) => piece)).toEqual([null]);
});

test('behavior: pieces are compressed before they are passed on, if one stream of the group wants it', async () => {
  const { waiter } = join();
  evaluate = async ({ last }) => ({ blocks: [evaluated(last, 100)], last });
  await grow(3);
  expect(waiter.taken[0]?.blocks[0]?.piece?.deflatedParts).toBeUndefined();
  join({ isDeflated: true });
  join({ isDeflated: false });
  await grow(4);
  expect(ranges.at(-1)?.isDeflated).toBe(true);
  expect(waiter.taken[1]?.blocks[0]?.piece?.deflatedParts).toHaveLength(1);
});

test('limit: waiters are served in slices, one for each turn of the event loop', async () => {
  const waiters = Array.from({ length: 5 }, () => join().waiter);
  const servedCount = () => waiters.filter(({ taken }) => taken.length > 0).length;
  const counts: number[] = [];
  dataset.extend([3]);
  groups.advance();
  for (let turn = 0; turn < 6; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(servedCount());
  }
  const steps = counts.map((count, i) => count - (counts[i - 1] ?? 0));
  expect(Math.max(...steps)).toBe(2);
  expect(counts.at(-1)).toBe(5);
});
