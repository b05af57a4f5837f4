import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, crc32, inflateRawSync } from 'node:zlib';
import { isCodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import { afterAll, expect, test } from 'vitest';
import {
  type ChainSnapshot,
  emptySnapshot,
  type HotBlock,
  type SealedSegment,
} from '../chain/chain-snapshot.ts';
import { noLists } from '../chain/testing/chain-fixtures.ts';
import type { Allocate, DatasetReader } from '../dataset/dataset-reader.ts';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { answerBlock, headerLine } from '../engine/testing/reference/answer-query.ts';
import { RUN_LIMITS } from '../engine/threads/engine-limits.ts';
import { EnginePool } from '../engine/threads/engine-pool.ts';
import { PART } from '../segment/layout/directory.ts';
import { openSegment } from '../segment/read/open-segment.ts';
import { sampleBlock } from '../segment/testing/sample-block.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { AnswerCache } from './answer-cache.ts';
import type { BlockEvaluator, EvaluationJob } from './block-evaluator.ts';
import { CachedEvaluator } from './cached-evaluator.ts';
import { DatasetSegments } from './dataset-segments.ts';
import { EngineEvaluator } from './engine-evaluator.ts';
import { FinalizedHeadEvaluator } from './finalized-head-evaluator.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-evaluator-'));
const pool = new EnginePool({ threadCount: 2, cacheBytesMax: 1 << 24 });

afterAll(async () => {
  await pool.stop();
  rmSync(folder, { recursive: true });
});

// Every third slot is skipped. 1,000 blocks are in two files, and 90 are hot.
const blocks = Array.from({ length: 1_090 }, (_, i) => sampleBlock(i + Math.floor(i / 2)));

function seal(id: string, part: readonly Block[]): SealedSegment {
  const bytes = buildSegment(part);
  writeFileSync(join(folder, id), bytes);
  const refs = { first: part[0]?.header, last: part.at(-1)?.header };
  return {
    id,
    ...refs,
    blockCount: part.length,
    byteLength: bytes.length,
  } as unknown as SealedSegment;
}

const hotBlocks = blocks.slice(1_000);
const snapshot: ChainSnapshot = {
  ...emptySnapshot,
  segments: [seal('a', blocks.slice(0, 700)), seal('b', blocks.slice(700, 1_000))],
  hot: hotBlocks.map(({ header }, payload): HotBlock => ({ header, payload })),
};
const dataset = {
  description: { name: 'test' },
  readHotBlock: async ({ payload }: HotBlock, allocate: Allocate) => {
    const bytes = buildSegment([hotBlocks[payload] as Block]);
    const copy = allocate(bytes.length);
    copy.set(bytes);
    return copy;
  },
  segmentPath: ({ id }: SealedSegment) => join(folder, id),
} as unknown as DatasetReader;
const evaluator = new EngineEvaluator({
  pool,
  segments: new DatasetSegments({ dataset, pool }),
});

const bodies = {
  'few lines': { instructions: [{ d4: ['0x0000092a'] }] },
  'a line per block': { logs: [{ instruction: true, transaction: true }] },
  'no line': { rewards: [{ pubkey: [] }] },
};

for (const [name, body] of Object.entries(bodies)) {
  for (const [first, last] of [
    [0, Infinity],
    [777, 1_555],
    [1_400, 1_600],
    [1_052, 1_052],
  ] as const) {
    test(`behavior: ${name}, slots ${first} to ${last}: every block is covered once, with the same lines as the reference`, async () => {
      const query = parseTestQuery({ fromBlock: first, ...body });
      const covered = blocks.filter(
        ({ header }) => header.number >= first && header.number <= last,
      );
      const signal = new AbortController().signal;
      let text = '';
      let reached = -1;
      for await (const run of evaluator.evaluate({
        selection: query,
        snapshot,
        first,
        last,
        isUrgent: false,
        form: 'plain',
        signal,
      })) {
        const block = covered.find(
          ({ header }) => header.number === run.lastCovered.number,
        ) as Block;
        expect(run.lastCovered.number).toBeGreaterThan(reached);
        reached = run.lastCovered.number;
        expect(run.lastCovered.hash).toBe(block.header.hash);
        expect(run.endsWithLine).toBe(answerBlock(query, block) !== undefined);
        expect(Buffer.concat(run.headerLine().parts).toString()).toBe(headerLine(query, block));
        text += run.piece === null ? '' : Buffer.concat(run.piece.parts).toString();
      }
      expect(reached).toBe(covered.at(-1)?.header.number ?? -1);
      expect(text).toBe(covered.map((block) => answerBlock(query, block) ?? '').join(''));
    });
  }
}

test('behavior: a cache in front of the engine returns the same lines', async () => {
  const answers = new AnswerCache({ bytesMax: 1 << 24 });
  const cached = new CachedEvaluator({ dataset: 'test', readList: noLists, answers, evaluator });
  const selection = parseTestQuery({ fromBlock: 0, ...bodies['few lines'] });
  const { signal } = new AbortController();
  for (const form of ['plain', 'deflated'] as const) {
    const job = { selection, snapshot, first: 0, last: Infinity, isUrgent: false, form, signal };
    const expected = await linesOf(evaluator, job);
    expect(expected.length).toBeGreaterThan(0);
    const hitCount = answers.hitCount;
    for (let i = 0; i < 3; i++) expect(await linesOf(cached, job)).toBe(expected);
    expect(answers.hitCount - hitCount).toBe(snapshot.segments.length);
  }
});

async function linesOf(from: BlockEvaluator, job: EvaluationJob): Promise<string> {
  let text = '';
  for await (const { piece } of from.evaluate(job)) {
    if (piece === null) continue;
    text += Buffer.concat(piece.parts).toString();
    piece.release();
  }
  return text;
}

test('behavior: inactive readers give way to others and continue where they stopped', async () => {
  const query = parseTestQuery({ fromBlock: 0, ...bodies['a line per block'] });
  const how = { isUrgent: false, form: 'plain' } as const;
  const job = { selection: query, snapshot, first: 0, last: Infinity, ...how };
  const readers = Array.from({ length: RUN_LIMITS.history.countMax + 2 }, () => ({
    blocks: evaluator.evaluate({ ...job, signal: new AbortController().signal }),
    text: '',
  }));
  // The last two readers get a piece only if the runs of inactive readers are cut.
  for (const reader of readers) {
    const { value } = await reader.blocks.next();
    reader.text += Buffer.concat(value?.piece?.parts ?? []).toString();
  }
  for (const reader of readers) {
    for await (const { piece } of reader.blocks)
      reader.text += Buffer.concat(piece?.parts ?? []).toString();
    expect(reader.text).toBe(blocks.map((block) => answerBlock(query, block) ?? '').join(''));
  }
});

test('behavior: an answer is compressed part by part if requested', async () => {
  const query = parseTestQuery({ fromBlock: 0, ...bodies['a line per block'] });
  const job = { selection: query, snapshot, first: 1_400, last: 1_600, isUrgent: true };
  const { signal } = new AbortController();
  const compressed: Uint8Array[] = [];
  const sums: number[] = [];
  let plainText = '';
  for await (const { piece } of evaluator.evaluate({ ...job, form: 'deflated', signal })) {
    plainText += Buffer.concat(piece?.parts ?? []).toString();
    for (const { bytes, crc, plainLength } of piece?.deflatedParts ?? []) {
      compressed.push(Uint8Array.from(bytes));
      sums.push(crc, plainLength);
    }
    // Later text overwrites the released memory.
    piece?.release();
  }
  const flush = { finishFlush: constants.Z_SYNC_FLUSH };
  const parts = compressed.map((bytes) => inflateRawSync(bytes, flush));
  expect(sums).toEqual(parts.flatMap((text) => [crc32(text), text.length]));
  const covered = blocks.filter(({ header: { number } }) => number >= 1_400 && number <= 1_600);
  const expected = covered.map((block) => answerBlock(query, block) ?? '').join('');
  expect(inflateRawSync(Buffer.concat(compressed), flush).toString()).toBe(expected);
  expect(plainText).toBe(expected);
});

/** The segments of every dataset are opened once in the pool. */
let datasetCount = 0;

for (const place of ['row group', 'headers'] as const) {
  test(`error: segment-damaged in the ${place} of the second segment is reported after the lines of the first`, async () => {
    const id = `damaged ${place}`;
    const damaged = seal(id, blocks.slice(700, 1_000));
    const bytes = readFileSync(join(folder, id));
    const { parts } = openSegment(bytes).directory;
    const table = parts.find(({ kind }) => kind === PART.blockColumn);
    const at = place === 'row group' ? 40 : (table?.entry.offset ?? expect.fail());
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(join(folder, id), bytes);
    const reported: string[] = [];
    const reader = {
      ...dataset,
      description: { name: `test ${place} ${datasetCount++}` },
      reportDamage: (segment: SealedSegment) => reported.push(segment.id),
    } as unknown as DatasetReader;
    const query = parseTestQuery({ fromBlock: 0, ...bodies['a line per block'] });
    const [first] = snapshot.segments;
    const job = {
      selection: query,
      snapshot: { ...snapshot, segments: [first as SealedSegment, damaged] },
      ...{ first: 0, last: Infinity, isUrgent: false, form: 'plain' as const },
      signal: new AbortController().signal,
    };
    let text = '';
    const reading = (async () => {
      for await (const { piece } of new EngineEvaluator({
        pool,
        segments: new DatasetSegments({ dataset: reader, pool }),
      }).evaluate(job)) {
        text += Buffer.concat(piece?.parts ?? []).toString();
        piece?.release();
      }
    })();
    await expect(reading).rejects.toSatisfy((error) => isCodedError(error, 'segment-damaged'));
    expect(reported).toEqual([id]);
    const before = blocks.slice(0, 700).map((block) => answerBlock(query, block) ?? '');
    expect(text === before.join('')).toBe(true);
  });
}

test("behavior: the finalized head is also in the lines of the engine's threads, compressed or not", async () => {
  const fields = { block: { finalizedHead: true }, log: { message: true } };
  const query = parseTestQuery({ fromBlock: 0, ...bodies['a line per block'], fields });
  const finalized = { number: blocks[9]?.header.number, hash: blocks[9]?.header.hash };
  const named = new FinalizedHeadEvaluator(evaluator).evaluate({
    selection: query,
    snapshot: { ...snapshot, finalized } as ChainSnapshot,
    first: 0,
    last: 1_555,
    isUrgent: false,
    form: 'deflated',
    signal: new AbortController().signal,
  });
  let text = '';
  for await (const { piece } of named) {
    const parts = (await piece?.deflated()) ?? [];
    for (const { bytes } of parts) {
      text += inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
    }
  }
  const field = `"finalizedHead":${JSON.stringify(finalized)}`;
  const expected = blocks
    .filter(({ header }) => header.number <= 1_555)
    .map((block) => answerBlock(query, block) ?? '')
    .join('')
    .replaceAll('"finalizedHead":null', field);
  expect(text).toBe(expected);
});
