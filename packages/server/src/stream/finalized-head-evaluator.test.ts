import { afterEach, describe, expect, test } from 'vitest';
import { emptySnapshot } from '../chain/chain-snapshot.ts';
import { ref } from '../chain/testing/chain-fixtures.ts';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { FinalizedHeadEvaluator, fillFinalizedHead } from './finalized-head-evaluator.ts';
import { LinePiece } from './line-piece.ts';
import { settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';
import { type Reading, StreamFixture } from './testing/stream-fixture.ts';

let fixture: StreamFixture | undefined;
afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

describe('replacing in lines of the engine', () => {
  const snapshot = { ...emptySnapshot, finalized: ref('a7') };
  const value = `{"number":7,"hash":"${ref('a7').hash}"}`;

  /** Evaluates with an engine that returns these parts of text. */
  async function replaceIn(...parts: readonly string[]) {
    const jobs: EvaluationJob[] = [];
    let releaseCount = 0;
    const bytes = parts.map((text) => Buffer.from(text));
    const engine: BlockEvaluator = {
      async *evaluate(job) {
        jobs.push(job);
        const piece = LinePiece.ofReusable(bytes, { release: () => releaseCount++ });
        const headerLine = () => new LinePiece(Buffer.from('{"finalizedHead":null}\n'));
        yield { piece, headerLine } as unknown as EvaluatedBlocks;
      },
    };
    const selection = parseTestQuery({ fromBlock: 0, fields });
    const job = { selection, snapshot, form: 'deflated' } as unknown as EvaluationJob;
    const results: EvaluatedBlocks[] = [];
    for await (const blocks of new FinalizedHeadEvaluator(engine).evaluate(job)) {
      results.push(blocks);
    }
    const text = Buffer.concat(results[0]?.piece?.parts ?? []).toString();
    return { text, releaseCount, jobs, result: results[0] };
  }

  test('default: the first value of each line is replaced, in one part or several', async () => {
    const line =
      '{"finalizedHead":null,"text":"\\"finalizedHead\\":null \\"finalizedHead":null"}\n';
    const replaced = line.replace('null', () => value);
    const one = await replaceIn(`${line}${line}`);
    expect(one.text).toBe(`${replaced}${replaced}`);
    expect([one.releaseCount, one.jobs[0]?.form]).toEqual([1, 'plain']);
    const several = await replaceIn(line.slice(0, 9), `${line.slice(9)}{}\n`, line);
    expect(several.text).toBe(`${replaced}{}\n${replaced}`);
    expect(Buffer.concat(one.result?.headerLine().parts ?? []).toString()).toBe(
      `{"finalizedHead":${value}}\n`,
    );
  });

  test('behavior: lines without the value and a line without an end stay as they are', async () => {
    expect((await replaceIn('{}\n{}\n')).text).toBe('{}\n{}\n');
    expect((await replaceIn('{"finalizedHead":null')).text).toBe(`{"finalizedHead":${value}`);
  });

  test('behavior: one line of text is filled like many', () => {
    const line = '{"header":{"finalizedHead":null},"message":"\\"finalizedHead":null"}';
    expect(fillFinalizedHead(line, snapshot)).toBe(line.replace('null', () => value));
    expect(fillFinalizedHead(line, emptySnapshot)).toBe(line);
  });
});

/** Slots 100 to 110, finalized up to 103. */
function makeChain(): MemoryDataset {
  const dataset = new MemoryDataset({ anchor: 99 });
  dataset.extend([100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110]);
  dataset.finalize(103);
  return dataset;
}

const fields = { block: { finalizedHead: true, hash: true }, reward: { pubKey: true } };

/** Returns the slot and the finalized head of each line. */
function finality({ text }: Reading): [number, number | null][] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => {
    const { header } = JSON.parse(line) as {
      header: { number: number; finalizedHead: { number: number } | null };
    };
    return [header.number, header.finalizedHead?.number ?? null];
  });
}

test('default: the finalized head is the last field of each header, and all other bytes are the same', async () => {
  fixture = new StreamFixture(makeChain());
  const range = { fromBlock: 100, toBlock: 104 };
  const plain = await fixture.follow(range);
  const named = await fixture.follow({ ...range, fields });
  const { number, hash } = fixture.dataset.refAt(103);
  const field = `,"finalizedHead":{"number":${number},"hash":"${hash}"}}`;
  expect(named.text.replaceAll(field, '}')).toBe(plain.text);
  expect(named.text.split(field)).toHaveLength(plain.slots.length + 1);
});

test('behavior: a follower learns of a new finalized head with the next block, without another request', async () => {
  fixture = new StreamFixture(makeChain());
  const body = { fromBlock: 110, includeAllBlocks: true, fields };
  const first = await fixture.follow(body);
  const second = await fixture.follow(body);
  const without = await fixture.follow({ fromBlock: 110, includeAllBlocks: true });
  for (const [slot, finalized] of [
    [111, 105],
    [112, 109],
  ] as const) {
    fixture.dataset.finalize(finalized);
    fixture.dataset.extend([slot]);
    await settle();
  }
  const expected = [
    [110, 103],
    [111, 105],
    [112, 109],
  ];
  expect(finality(first)).toEqual(expected);
  expect(second.text).toBe(first.text);
  expect(without.text).not.toContain('finalizedHead');
});

test('behavior: a later stream gets the newer finalized head for the same block', async () => {
  fixture = new StreamFixture(makeChain());
  const body = { fromBlock: 110, toBlock: 110, fields };
  const early = await fixture.follow(body);
  fixture.dataset.finalize(108);
  const late = await fixture.follow(body);
  expect([finality(early), finality(late)]).toEqual([[[110, 103]], [[110, 108]]]);
});

test('behavior: without a finalized block the value is null', async () => {
  const dataset = new MemoryDataset({ anchor: 99 });
  dataset.extend([100]);
  fixture = new StreamFixture(dataset);
  const reading = await fixture.follow({ fromBlock: 100, toBlock: 100, fields });
  expect(finality(reading)).toEqual([[100, null]]);
});

test('behavior: sealed blocks far below the head have the finalized head too', async () => {
  const dataset = makeChain();
  dataset.finalize(108);
  dataset.seal(106);
  fixture = new StreamFixture(dataset, { sharedSlotCountMax: 1 });
  const reading = await fixture.follow({ fromBlock: 100, toBlock: 107, fields });
  expect(finality(reading)).toEqual([
    [102, 108],
    [105, 108],
    [107, 108],
  ]);
});
