import { toSlot } from '@sluice/ledger/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ChainSnapshot, emptySnapshot } from '../chain/chain-snapshot.ts';
import { makeRun, noLists, sealRun } from '../chain/testing/chain-fixtures.ts';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { AnswerCache } from './answer-cache.ts';
import { BlockCollector } from './block-collector.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { CachedEvaluator } from './cached-evaluator.ts';
import { LinePiece } from './line-piece.ts';

const selection = parseTestQuery({ fromBlock: 0 });

/** Blocks at even slots: segments of slots 0 to 8, 10 to 18 and 20 to 28 with 1,000 bytes each, and hot blocks from slot 30 on. */
const blocks = makeRun(
  'a',
  [...Array(20).keys()].map((i) => i * 2),
  null,
);
const snapshot: ChainSnapshot = {
  ...emptySnapshot,
  segments: [0, 5, 10].map((from) => ({
    ...sealRun(blocks.slice(from, from + 5)),
    byteLength: 1_000,
  })),
  hot: blocks.slice(15),
};

/** Returns one line per block, in memory that is overwritten when the line is released. */
class LineEvaluator implements BlockEvaluator {
  readonly ranges: string[] = [];
  lineLength = 10;

  async *evaluate({ first, last }: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    this.ranges.push(`${first}-${last}`);
    for (const { header } of blocks) {
      if (header.number < first || header.number > last) continue;
      const bytes = Buffer.from(`${header.number}`.padEnd(this.lineLength - 1).concat('\n'));
      // Every third block has no line.
      const hasLine = header.number % 3 !== 0;
      const piece = hasLine
        ? LinePiece.ofReusable([bytes], { release: () => bytes.fill('x') })
        : null;
      const headerLine = () => new LinePiece(Buffer.from(`h${header.number}`));
      yield { piece, lastCovered: header, endsWithLine: hasLine, headerLine };
    }
  }
}

function make({ bytesMax = 1 << 20 } = {}) {
  const evaluator = new LineEvaluator();
  const answers = new AnswerCache({ bytesMax });
  const cached = new CachedEvaluator({ dataset: 'test', readList: noLists, answers, evaluator });
  const ask = (first: number, last: number, how: Partial<EvaluationJob> = {}) =>
    read(cached, { first, last, ...how });
  return { evaluator, answers, ask };
}

/** Reads all lines as a response does: a piece is released after it was sent. */
async function read(
  evaluator: BlockEvaluator,
  job: Partial<EvaluationJob> & { first: number; last: number },
): Promise<{ text: string; last: EvaluatedBlocks | undefined }> {
  let text = '';
  let last: EvaluatedBlocks | undefined;
  const { signal } = new AbortController();
  const whole = { selection, snapshot, isUrgent: false, form: 'plain', signal, ...job } as const;
  for await (const one of evaluator.evaluate(whole)) {
    for (const part of one.piece?.parts ?? []) text += Buffer.from(part).toString();
    one.piece?.release();
    last = one;
  }
  return { text, last };
}

test('behavior: the answers over segments that retention removed are dropped', async () => {
  const { answers, ask } = make();
  for (let i = 0; i < 2; i++) await ask(0, 28);
  const wholeBytes = answers.bytes;
  const { segments } = snapshot;
  const trimmed = { ...snapshot, segments: segments.slice(1), start: toSlot(9) };
  await ask(10, 28, { snapshot: trimmed });
  expect(answers.hitCount).toBe(2);
  const leftBytes = answers.bytes;
  expect(leftBytes).toBeLessThan(wholeBytes);
  answers.dropBelow(100, 'another');
  expect(answers.bytes).toBe(leftBytes);
});

test('behavior: the size of an answer is that of its lines and a kilobyte for each piece and for itself', () => {
  const answers = new AnswerCache({ bytesMax: 1 << 20 });
  const [{ header: lastCovered }] = blocks as [(typeof blocks)[number]];
  const headerLine = () => new LinePiece(Buffer.from('h'));
  const one = { lastCovered, endsWithLine: true, headerLine };
  answers.keep('key', [
    { ...one, piece: new LinePiece(Buffer.alloc(500)) },
    { ...one, piece: null },
  ]);
  expect(answers.bytes).toBe(3 * 1_024 + 500);
});

test('behavior: discarded blocks are released', () => {
  let releaseCount = 0;
  const [{ header: lastCovered }] = blocks as [(typeof blocks)[number]];
  const headerLine = () => new LinePiece(Buffer.from('h'));
  const collector = new BlockCollector();
  for (const text of ['a\n', 'b\n']) {
    const release = () => releaseCount++;
    const piece = LinePiece.ofReusable([Buffer.from(text)], { release });
    collector.add({ piece, lastCovered, endsWithLine: true, headerLine });
  }
  expect(releaseCount).toBe(0);
  collector.discard();
  expect([releaseCount, collector.finish()]).toEqual([2, []]);
});

test('behavior: the third request for a segment is answered without an evaluation', async () => {
  const { evaluator, answers, ask } = make();
  const first = await ask(0, 9);
  expect(answers.bytes).toBe(0);
  const second = await ask(0, 9);
  expect(answers.bytes).toBeGreaterThan(30);
  evaluator.ranges.length = 0;
  const third = await ask(0, 9);
  expect(first.text).toBe('2        \n4        \n8        \n');
  expect([second.text, third.text]).toEqual([first.text, first.text]);
  expect(evaluator.ranges).toEqual(['9-9']);
  expect([answers.hitCount, answers.missCount]).toEqual([1, 2]);
});

test('behavior: a cached answer ends as an evaluated one does, also without a line of the last block', async () => {
  const { ask } = make();
  for (let i = 0; i < 3; i++) {
    const { last } = await ask(10, 18);
    expect(last?.lastCovered.number).toBe(18);
    expect(last?.endsWithLine).toBe(false);
    expect(Buffer.concat(last?.headerLine().parts ?? []).toString()).toBe('h18');
  }
});

test('behavior: only the blocks without a cached answer are evaluated', async () => {
  const { evaluator, ask } = make();
  const whole = await ask(0, 38);
  await ask(10, 19);
  await ask(10, 19);
  evaluator.ranges.length = 0;
  expect((await ask(0, 38)).text).toBe(whole.text);
  expect(evaluator.ranges).toEqual(['0-9', '19-38']);
});

test('behavior: segments that are partly in the range are evaluated', async () => {
  const { evaluator, ask } = make();
  for (let i = 0; i < 3; i++) await ask(2, 8);
  for (let i = 0; i < 3; i++) await ask(10, 16);
  expect(evaluator.ranges).toEqual([...Array(3).fill('2-8'), ...Array(3).fill('10-16')]);
});

test('behavior: other queries, other forms and blocks at the head have other answers', async () => {
  const { evaluator, ask } = make();
  for (let i = 0; i < 3; i++) await ask(0, 8);
  evaluator.ranges.length = 0;
  await ask(0, 8, { selection: parseTestQuery({ fromBlock: 0, rewards: [{}] }) });
  await ask(0, 8, { form: 'deflated' });
  await ask(0, 8, { isUrgent: true });
  expect(evaluator.ranges).toEqual(['0-8', '0-8', '0-8']);
});

test('behavior: another dataset has other answers', async () => {
  const { evaluator, answers, ask } = make();
  for (let i = 0; i < 3; i++) await ask(0, 8);
  const other = new CachedEvaluator({ dataset: 'other', readList: noLists, answers, evaluator });
  evaluator.ranges.length = 0;
  await read(other, { first: 0, last: 8 });
  expect(evaluator.ranges).toEqual(['0-8']);
});

test('limit: an answer larger than half of its segment is not kept', async () => {
  const { evaluator, answers, ask } = make();
  evaluator.lineLength = 167;
  for (let i = 0; i < 3; i++) await ask(0, 8);
  expect(answers.bytes).toBe(0);
  evaluator.lineLength = 166;
  await ask(0, 8);
  expect(answers.bytes).toBeGreaterThan(166 * 3);
});

test('limit: the least recently used answers are evicted', async () => {
  const { evaluator, answers, ask } = make({ bytesMax: 5_000 });
  for (let i = 0; i < 2; i++) await ask(0, 28);
  expect(answers.bytes).toBeGreaterThan(2_000);
  expect(answers.bytes).toBeLessThanOrEqual(5_000);
  evaluator.ranges.length = 0;
  await ask(20, 28);
  expect(evaluator.ranges).toEqual([]);
  await ask(0, 8);
  expect(evaluator.ranges).toEqual(['0-8']);
});

test('behavior: an abandoned request keeps nothing', async () => {
  const { evaluator, answers, ask } = make();
  await ask(0, 8);
  const cached = new CachedEvaluator({ dataset: 'test', readList: noLists, answers, evaluator });
  const { signal } = new AbortController();
  const job = { selection, snapshot, isUrgent: false, form: 'plain', signal } as const;
  for await (const one of cached.evaluate({ ...job, first: 0, last: 8 })) {
    if (one.lastCovered.number === 4) break;
  }
  expect(answers.bytes).toBe(0);
});

test('limit: of many segments without answers, 256 are evaluated together', async () => {
  const slots = Array.from({ length: 300 }, (_, i) => i);
  const many = makeRun('a', slots, null).map((block) => ({ ...sealRun([block]), byteLength: 100 }));
  const evaluator = new LineEvaluator();
  const answers = new AnswerCache({ bytesMax: 1 << 20 });
  const cached = new CachedEvaluator({ dataset: 'test', readList: noLists, answers, evaluator });
  const segments = { ...emptySnapshot, segments: many } as unknown as ChainSnapshot;
  await read(cached, { snapshot: segments, first: 0, last: 299 });
  expect(evaluator.ranges).toEqual(['0-255', '256-299']);
});

test('property: any sequence of ranges gets the lines of an evaluator without a cache', async () => {
  const slot = fc.integer({ min: 0, max: 38 });
  const ranges = fc.array(fc.tuple(slot, slot), { minLength: 1, maxLength: 12 });
  const sizes = fc.constantFrom(1, 3_000, 6_000, 1 << 20);
  await fc.assert(
    fc.asyncProperty(ranges, sizes, async (list, bytesMax) => {
      const { ask } = make({ bytesMax });
      for (const [one, other] of list) {
        const [first, last] = [Math.min(one, other), Math.max(one, other)];
        const plain = await read(new LineEvaluator(), { first, last });
        const cached = await ask(first, last);
        expect(cached.text).toBe(plain.text);
        expect(cached.last?.lastCovered).toEqual(plain.last?.lastCovered);
      }
    }),
  );
});
