import { expect, test } from 'vitest';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { batchBytesMax } from './block-collector.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { LinePiece } from './line-piece.ts';
import { nextSharedJob, SharedEvaluations } from './shared-evaluations.ts';

const selection = parseTestQuery({ fromBlock: 0 });
const asked = { selection, isDeflated: false };
const snapshot = { head: { hash: 'tip' } } as unknown as ChainSnapshot;

function jobAt(slot: number) {
  return { ...asked, snapshot, first: slot, last: slot, blocks: `block ${slot}` };
}

/** An evaluator whose results a test releases. */
class HeldEvaluator implements BlockEvaluator {
  readonly started: ((lineBytes: number | Error) => void)[] = [];

  async *evaluate(): AsyncGenerator<EvaluatedBlocks> {
    const lineBytes = await new Promise<number | Error>((resolve) => this.started.push(resolve));
    if (lineBytes instanceof Error) throw lineBytes;
    yield { piece: new LinePiece(new Uint8Array(lineBytes)) } as EvaluatedBlocks;
  }
}

test('behavior: a block is evaluated once for all streams with the same query', async () => {
  const evaluator = new HeldEvaluator();
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, evaluator);
  const [first, second] = [shared.evaluate(jobAt(1)), shared.evaluate(jobAt(1))];
  expect(evaluator.started.length).toBe(1);
  evaluator.started[0]?.(10);
  expect(await first).toBe(await second);
});

test('behavior: equal selections share one object, different ones do not', () => {
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, new HeldEvaluator());
  const [same, other] = [
    parseTestQuery({ fromBlock: 7 }),
    parseTestQuery({ fromBlock: 0, rewards: [{}] }),
  ];
  expect([selection, same, other].map((one) => shared.shareable(one))).toEqual([
    selection,
    selection,
    other,
  ]);
  expect(shared.shareable(same)).toBe(selection);
  expect(shared.idOf(same)).toBe(shared.idOf(selection));
  expect(shared.idOf(other)).not.toBe(shared.idOf(selection));
});

test('limit: entries that are evicted in progress, or fail, are removed from the size', async () => {
  const evaluator = new HeldEvaluator();
  const shared = new SharedEvaluations({ bytesMax: 4_000 }, evaluator);
  const before = shared.bytes;
  const slow = shared.evaluate(jobAt(1));
  const failing = shared.evaluate(jobAt(2));
  const large = shared.evaluate(jobAt(3));
  evaluator.started[1]?.(new Error('a disk'));
  await expect(failing).rejects.toThrow('a disk');
  // Larger than the limit, so everything is evicted, including the entry in progress.
  evaluator.started[2]?.(10_000);
  await large;
  expect(shared.bytes).toBe(before);
  evaluator.started[0]?.(100);
  expect((await slow)[0]?.piece?.byteLength).toBe(100);
  expect(shared.bytes).toBe(before);
});

/** Blocks at these slots above a sealed one, with the fields that sharing uses. */
function chainOf(slots: readonly number[], sealedTo = 0): ChainSnapshot {
  const hot = slots.map((number) => ({ header: { number, hash: `hash ${number}` } }));
  return { segments: [{ last: { number: sealedTo } }], hot } as unknown as ChainSnapshot;
}

test('behavior: ranges are shared by block near the head, and in whole batches below it and in sealed blocks', () => {
  const chain = chainOf([30, 31, 32, 33, 40, 47, 49, 50], 20);
  const lastFrom = (first: number) =>
    nextSharedJob({ ...asked, snapshot: chain, first, last: 50 }).last;
  expect([48, 49, 50].map(lastFrom)).toEqual([49, 49, 50]);
  expect([30, 31, 32, 33, 34].map(lastFrom)).toEqual([30, 31, 47, 33, 40]);
  expect([3, 16, 20, 21].map(lastFrom)).toEqual([15, 31, 31, 30]);
});

test('behavior: a stream that lags gets several blocks at once, and all remaining ones only if they are few', async () => {
  const evaluator: BlockEvaluator = {
    async *evaluate({ first }) {
      const piece = new LinePiece(new Uint8Array(30_000));
      yield { piece, lastCovered: { number: first } } as unknown as EvaluatedBlocks;
    },
  };
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, evaluator);
  const snapshot = chainOf([49, 50, 51, 52, 53, 54]);
  const some = await shared.evaluateSome({ ...asked, snapshot, first: 49, last: 54 });
  expect([some.last, some.blocks.length]).toEqual([51, 3]);
  const rest = await shared.evaluateSome({ ...asked, snapshot, first: 53, last: 54 });
  expect([rest.last, rest.blocks.length]).toEqual([54, 2]);
});

test('behavior: the same blocks have the same name regardless of the blocks above, and different blocks have different names', () => {
  const nameIn = (slots: readonly number[], last: number, sealedTo?: number) =>
    nextSharedJob({ ...asked, snapshot: chainOf(slots, sealedTo), first: 32, last }).blocks;
  expect(nameIn([33, 40, 50], 47)).toBe(nameIn([33, 40, 50, 51], 47));
  // After a fork that fills slot 45, the same slots have other blocks.
  expect(nameIn([33, 40, 50], 47)).not.toBe(nameIn([33, 40, 45], 45));
  expect(nameIn([33, 40, 50], 47)).not.toBe(nameIn([33, 40, 48], 47));
  expect(nameIn([50], 47, 49)).toBe(nameIn([60], 47, 59));
});

test('behavior: lines of adjacent blocks become one piece, unless they are long', async () => {
  const lengths = [100, 0, 200, 200_000, 100_000, 5];
  const evaluator: BlockEvaluator = {
    async *evaluate() {
      for (const [number, length] of lengths.entries()) {
        const piece = length === 0 ? null : new LinePiece(new Uint8Array(length).fill(number));
        yield { piece, lastCovered: { number } } as unknown as EvaluatedBlocks;
      }
    },
  };
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, evaluator);
  const evaluated = await shared.evaluate(jobAt(1));
  expect(
    evaluated.map(({ piece, lastCovered }) => [
      lastCovered.number,
      piece?.parts.map(({ length }) => length),
    ]),
  ).toEqual([
    [3, [200_300]],
    [5, [100_005]],
  ]);
  const bytes = Buffer.concat(evaluated.flatMap(({ piece }) => piece?.parts ?? []));
  expect(bytes).toEqual(
    Buffer.concat(lengths.map((length, number) => Buffer.alloc(length, number))),
  );
});

/** Evaluates to pieces of these sizes, one for each block, and records the jobs. */
function evaluatorOf(lengths: readonly (number | null)[]) {
  const jobs: EvaluationJob[] = [];
  const evaluator: BlockEvaluator = {
    async *evaluate(job) {
      jobs.push(job);
      for (const length of lengths) {
        const piece = length === null ? null : new LinePiece(new Uint8Array(length));
        yield { piece, lastCovered: { number: job.first } } as unknown as EvaluatedBlocks;
      }
    },
  };
  return { evaluator, jobs };
}

test.each([
  [[batchBytesMax / 2, batchBytesMax / 2], [batchBytesMax]],
  [
    [batchBytesMax / 2, batchBytesMax / 2 + 1],
    [batchBytesMax / 2, batchBytesMax / 2 + 1],
  ],
  [[null, batchBytesMax + 1], [batchBytesMax + 1]],
  [[null, null], [undefined]],
])('limit: blocks of %j bytes become pieces of %j', async (lengths, expected) => {
  const { evaluator } = evaluatorOf(lengths);
  const shared = new SharedEvaluations({ bytesMax: 1 << 24 }, evaluator);
  const evaluated = await shared.evaluate(jobAt(1));
  expect(evaluated.map(({ piece }) => piece?.byteLength)).toEqual(expected);
});

test('behavior: shared blocks are urgent, in the form that was asked for, and not stopped by one stream', async () => {
  const { evaluator, jobs } = evaluatorOf([1]);
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, evaluator);
  await shared.evaluate(jobAt(1));
  await shared.evaluate({ ...jobAt(2), isDeflated: true });
  expect(jobs).toMatchObject([
    { form: 'plain', isUrgent: true },
    { form: 'deflated', isUrgent: true },
  ]);
  expect(jobs[0]?.signal.aborted).toBe(false);
});

test('limit: entries stay up to exactly the limit, and the least recently used one is evicted first', async () => {
  const { evaluator, jobs } = evaluatorOf([100]);
  const shared = new SharedEvaluations({ bytesMax: 2 * (1_024 + 100) }, evaluator);
  await shared.evaluate(jobAt(1));
  await shared.evaluate(jobAt(2));
  expect(shared.bytes).toBe(2 * (1_024 + 100));
  await shared.evaluate(jobAt(1));
  expect(jobs).toHaveLength(2);
  await shared.evaluate(jobAt(3));
  await shared.evaluate(jobAt(1));
  expect(jobs).toHaveLength(3);
  await shared.evaluate(jobAt(2));
  expect(jobs).toHaveLength(4);
});

test('limit: a write of exactly the goal is large enough', async () => {
  const { evaluator } = evaluatorOf([1 << 15]);
  const shared = new SharedEvaluations({ bytesMax: 1 << 20 }, evaluator);
  const range = { ...asked, snapshot: chainOf([49, 50, 51, 52]), first: 49, last: 52 };
  expect((await shared.evaluateSome(range)).last).toBe(50);
});

test('behavior: queries are numbered in the order in which they are asked', () => {
  const shared = new SharedEvaluations({ bytesMax: 1 }, evaluatorOf([]).evaluator);
  const queries = [{}, { rewards: [{}] }, { logs: [{}] }].map((body) =>
    parseTestQuery({ fromBlock: 0, ...body }),
  );
  const ids = queries.map((query) => shared.idOf(query));
  expect(new Set(ids).size).toBe(3);
  expect(ids).not.toContain(undefined);
  expect(queries.map((query) => shared.idOf(query))).toEqual(ids);
});
