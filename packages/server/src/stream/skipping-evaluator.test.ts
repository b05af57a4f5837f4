/** A dataset with many segments, lists and indexes in real files, searched as queries and lookups do. */
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBase58 } from '@sluice/base/base58';
import { systemClock } from '@sluice/base/clock';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import type { IndexRun } from '../chain/chain-snapshot.ts';
import { totalSealed } from '../chain/segment-lists.ts';
import { Dataset } from '../dataset/dataset.ts';
import type { DatasetLimits } from '../dataset/dataset-limits.ts';
import { makeIndexInThread } from '../dataset/history/index-thread.ts';
import { createDataset } from '../dataset/stored/create-dataset.ts';
import { mergeInProcess, toBuiltSegment } from '../dataset/testing/merge-in-process.ts';
import { arbitraryQuery, parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { answerBlock } from '../engine/testing/reference/answer-query.ts';
import { EnginePool } from '../engine/threads/engine-pool.ts';
import type { Query } from '../query/query.ts';
import { putTestSet } from '../query/testing/test-sets.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { AnswerCache } from './answer-cache.ts';
import { CachedEvaluator } from './cached-evaluator.ts';
import { DatasetSegments } from './dataset-segments.ts';
import { EngineEvaluator } from './engine-evaluator.ts';
import { DatasetLookups } from './lookups/dataset-lookups.ts';
import { SkippingEvaluator } from './skipping-evaluator.ts';
import { makeHash } from './testing/make-block.ts';

const blocks = simulatedBlocks({ content: { transactionsPerBlock: 3, votes: 0 }, blockCount: 340 });
const data = mkdtempSync(join(tmpdir(), 'sluice-history-'));
const pool = new EnginePool({ threadCount: 2, cacheBytesMax: 1 << 24 });
const { signal } = new AbortController();

afterAll(async () => {
  await pool.stop();
  rmSync(data, { recursive: true });
});

async function openDataset(name: string, limits: Partial<DatasetLimits>): Promise<Dataset> {
  const dependencies = {
    fs: nodeFs,
    clock: systemClock,
    isLockHeld: () => true,
    merge: mergeInProcess,
    makeIndex: makeIndexInThread,
  };
  return Dataset.open({ folder: join(data, name), realTime: false, limits }, dependencies);
}

/** Imports the blocks in segments of two blocks, and waits until they are merged, listed and indexed. */
async function importBlocks(name: string, limits: Partial<DatasetLimits>): Promise<Dataset> {
  const manifest = {
    name,
    aliases: [],
    genesisHash: null,
    votes: 'drop',
    metaOptional: false,
    allowMissing: [],
  } as const;
  await createDataset(join(data, name), manifest, { fs: nodeFs });
  const dataset = await openDataset(name, limits);
  const { parentSlot, parentHash } = (blocks[0] as (typeof blocks)[0]).header;
  const anchor = { number: parentSlot, hash: parentHash };
  await dataset.commit([{ kind: 'create', anchor }]);
  for (let at = 0; at < blocks.length; at += 2) {
    const part = blocks.slice(at, at + 2);
    const built = toBuiltSegment(buildSegment(part));
    await dataset.appendSealed(
      built,
      part.map(({ header }) => header),
    );
  }
  await dataset.finishUpkeep();
  return dataset;
}

function openEvaluators(dataset: Dataset) {
  const segments = new DatasetSegments({ dataset, pool });
  const opened: string[] = [];
  const useSealed = segments.useSealed.bind(segments);
  segments.useSealed = (used) => {
    opened.push(...used.map(({ id }) => id));
    return useSealed(used);
  };
  const engine = new EngineEvaluator({ pool, segments });
  const answers = new AnswerCache({ bytesMax: 1 << 22 });
  const { readList } = dataset;
  const { name } = dataset.description;
  const cached = new CachedEvaluator({ dataset: name, readList, answers, evaluator: engine });
  const evaluator = new SkippingEvaluator({ dataset, evaluator: cached });
  const lookups = new DatasetLookups({ dataset, evaluator, segments, pool });
  return { evaluator, lookups, opened };
}

/** Returns the lines of a query, and the last slot that was covered. */
async function answer(
  { evaluator }: Pick<ReturnType<typeof openEvaluators>, 'evaluator'>,
  dataset: Dataset,
  query: Query,
) {
  const { snapshot, release } = dataset.acquire();
  const last = Math.min(query.toBlock ?? Infinity, snapshot.head?.number ?? -1);
  const first = Math.max(query.fromBlock, snapshot.start ?? 0);
  const job = { selection: query, snapshot, first, last, signal };
  let [text, covered] = ['', -1];
  for await (const run of evaluator.evaluate({ ...job, isUrgent: false, form: 'plain' })) {
    expect(run.lastCovered.number).toBeGreaterThan(covered);
    covered = run.lastCovered.number;
    text += run.piece === null ? '' : Buffer.concat(run.piece.parts).toString();
    run.piece?.release();
  }
  release();
  const inRange = blocks.filter(({ header }) => header.number >= first && header.number <= last);
  const expected = inRange.map((block) => answerBlock(query, block) ?? '').join('');
  return { text, expected, covered, last: inRange.at(-1)?.header.number ?? -1 };
}

const rare = blocks[233]?.transactions[0] as (typeof blocks)[0]['transactions'][0];
const rarePayer = rare.accountKeys[0] as (typeof rare.accountKeys)[0];
const absent = 'J1S9H3QjnRtBbbuD4HjPV6RpRhwuk4zKbxsnCHuTgh9w';
/** More than a list may have to be looked up in the indexes. */
const rareAccounts = [rarePayer, ...Array.from({ length: 500 }, (_, slot) => makeHash('x', slot))];

describe.each([
  ['segments that stay as they are', { mergeBytes: 1, mergeCount: 2 }],
  ['merged segments', { mergeBytes: 120_000, mergeCount: 3 }],
])('%s', (name, limits) => {
  let dataset: Dataset;
  let evaluators: ReturnType<typeof openEvaluators>;
  beforeAll(async () => {
    const imported = await importBlocks(name.replaceAll(' ', '-'), limits);
    await imported.close();
    // The state is read from the files.
    dataset = await openDataset(name.replaceAll(' ', '-'), limits);
    await dataset.finishUpkeep();
    evaluators = openEvaluators(dataset);
  });
  beforeEach(() => {
    evaluators.opened.length = 0;
  });
  afterAll(() => dataset.close());

  test('default: everything but the newest few segments is indexed by few files, and no other file is left', () => {
    const { snapshot } = { snapshot: dataset.snapshot() };
    expect(dataset.status().alarms).toEqual([]);
    const { indexes, lists, unused } = snapshot;
    const { segmentCount, blockCount } = totalSealed(snapshot);
    expect(blockCount).toBe(blocks.length);
    if (limits.mergeBytes === 1) {
      expect([segmentCount, lists.length > 0]).toEqual([170, true]);
      const { number: head } = snapshot.head ?? { number: -1 };
      const unindexed = blocks.filter(
        ({ header }) => header.number > (indexes.at(-1)?.last ?? head),
      );
      expect(unindexed.length).toBeLessThan(8);
    } else expect(segmentCount).toBeLessThan(90);
    expect(indexes.length).toBeLessThanOrEqual(6);
    expect(indexes[0]?.first).toBe(snapshot.start);
    expect(unused).toEqual([]);
    const folder = join(data, name.replaceAll(' ', '-'));
    expect(readdirSync(join(folder, 'indexes')).sort()).toEqual(indexes.map(({ id }) => id).sort());
    expect(readdirSync(join(folder, 'segments'))).toHaveLength(segmentCount);
  });

  test('property: any query has the lines of the reference, and covers its range', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryQuery(blocks.slice(100, 110)), async (query) => {
        const { text, expected, covered, last } = await answer(evaluators, dataset, query);
        expect(text).toBe(expected);
        expect(covered).toBe(last);
      }),
      { numRuns: 6, seed: 3 },
    );
  });

  test.each([
    ['an absent account', { transactions: [{ mentionsAccount: [absent] }] }],
    ['a set of rare accounts', { transactions: [{ mentionsAccount: putTestSet(rareAccounts) }] }],
    [
      'an absent discriminator',
      {
        instructions: [
          { programId: ['11111111111111111111111111111111'], d8: ['0x5a5a5a5a5a5a5a5a'] },
        ],
      },
    ],
  ])('limit: %s: only segments that can have it are opened', async (_, body) => {
    const query = parseTestQuery({ fromBlock: 0, ...body } as never);
    const { text, expected } = await answer(evaluators, dataset, query);
    expect(text).toBe(expected);
    const matching = expected.split('\n').length - 1;
    // Some are opened before the index is consulted, and the last one always.
    expect(new Set(evaluators.opened).size).toBeLessThanOrEqual(matching + 90);
  });

  test('limit: a signature is searched in few segments, an unknown one in none that has an index', async () => {
    const { lookups, opened } = evaluators;
    const signature = decodeBase58(rare.signatures[0] as string) as Uint8Array;
    const { value } = await lookups.transaction(signature, signal);
    expect(value).toContain(rare.signatures[0]);
    expect(new Set(opened).size).toBe(1);
    opened.length = 0;
    const unknown = lookups.transaction(new Uint8Array(64).fill(9), signal);
    await expect(unknown).rejects.toMatchObject({ code: 'transaction-unknown' });
    const { segments, indexes } = dataset.snapshot();
    const indexedTo = indexes.at(-1)?.last ?? -1;
    // The merges decide whether the newest segments have an index yet. A single one without is searched without a probe.
    const unindexed = segments.filter(({ last }) => last.number > indexedTo).map(({ id }) => id);
    expect(unindexed).toEqual(expect.arrayContaining(opened));
  });

  test('behavior: the transactions of an account are found in all of history', async () => {
    const { lookups, opened } = evaluators;
    const address = decodeBase58(rarePayer) as Uint8Array;
    const request = { address, before: null, limit: 100 };
    const { value } = await lookups.accountTransactions(request, signal);
    // An account is also mentioned as the owner of a token balance.
    const expected = blocks.flatMap(({ transactions, tokenBalances }) =>
      transactions.filter((transaction) => {
        const { transactionIndex, accountKeys } = transaction;
        const owners = tokenBalances
          .filter((balance) => balance.transactionIndex === transactionIndex)
          .flatMap(({ preOwner, postOwner }) => [preOwner, postOwner]);
        return [...accountKeys, ...owners].includes(rarePayer);
      }),
    );
    expect(value.lines).toHaveLength(Math.min(100, expected.length));
    expect(new Set(opened).size).toBeLessThanOrEqual(expected.length + 10);
  });

  test('error: an index that cannot be read excludes nothing, and raises an alarm', async () => {
    const folder = join(data, name.replaceAll(' ', '-'), 'indexes');
    const [run] = dataset.snapshot().indexes as [IndexRun];
    renameSync(join(folder, run.id), join(folder, 'elsewhere'));
    const again = await openDataset(name.replaceAll(' ', '-'), limits);
    try {
      await again.finishUpkeep();
      expect(await again.findSlots(run, 1)).toBeUndefined();
      expect(again.alarms.has('dataset-upkeep-failed')).toBe(true);
    } finally {
      renameSync(join(folder, 'elsewhere'), join(folder, run.id));
      await again.close();
    }
  });
});
