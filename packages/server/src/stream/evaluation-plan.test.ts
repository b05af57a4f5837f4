/** How a range is divided into runs of the engine, with a pool that records its runs. */

import { CodedError } from '@sluice/base/errors';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { applyChanges } from '../chain/apply-changes.ts';
import { type ChainSnapshot, emptySnapshot, type HotBlock } from '../chain/chain-snapshot.ts';
import { hash, makeRun, sealRun, slot } from '../chain/testing/chain-fixtures.ts';
import type { Allocate, DatasetReader } from '../dataset/dataset-reader.ts';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { aheadBytesFloor, aheadBytesMax } from '../engine/threads/engine-messages.ts';
import type { EnginePool } from '../engine/threads/engine-pool.ts';
import { SegmentFailure } from '../engine/threads/segment-failure.ts';
import type { EvaluatedBlocks } from './block-evaluator.ts';
import { DatasetSegments } from './dataset-segments.ts';
import { EngineEvaluator } from './engine-evaluator.ts';
import { idleCountMax, OpenSegments } from './open-segments.ts';

const run = makeRun(
  'a',
  Array.from({ length: 40 }, (_, i) => 10 + i),
  {
    number: 9,
    hash: 'a9',
    height: 1,
  },
);
const byteLength = 40 << 20;
const sealLarge = (blocks: Parameters<typeof sealRun>[0]) => ({ ...sealRun(blocks), byteLength });
/** Twenty segments of one block each, the slots 10 to 29, and the hot blocks 30 to 49. */
const snapshot = applyChanges(emptySnapshot, [
  { kind: 'create', anchor: { number: slot(9), hash: hash('a9') } },
  { kind: 'append-sealed', segments: run.slice(0, 20).map((block) => sealLarge([block])) },
  { kind: 'extend', blocks: run.slice(20) },
]);

type RunOptions = Parameters<EnginePool['run']>[0];

let runs: RunOptions[];
let opened: { key: string; kind: string }[];
let closed: string[];
let released: number;
/** The bytes of text of each segment, and what the run yields instead, if set. */
let textBytes: number;
let candidateShare: number;
let instead: ((run: RunOptions) => AsyncGenerator<unknown>) | undefined;
let damages: string[];
let hotReads: number;

beforeEach(() => {
  [runs, opened, closed, damages] = [[], [], [], []];
  [released, textBytes, candidateShare, hotReads] = [0, 10, 1, 0];
  instead = undefined;
});

function pieceOf(key: string, bytes = textBytes, isWhole = true) {
  const number = Number(/(\d+)/.exec(key.split('/')[1] ?? '')?.[1]);
  const { header } = (run.find((block) => block.header.number === number) ?? run[0]) as HotBlock;
  const coverage = {
    slot: header.number,
    hash: header.hash,
    endsWithLine: true,
    candidateShare,
    headerLine: Buffer.from('header'),
  };
  return {
    bytes: new Uint8Array(bytes),
    deflated: undefined,
    coverage: isWhole ? coverage : undefined,
    release: () => {
      released++;
    },
  };
}

async function* answer({ keys }: RunOptions) {
  for (const key of keys) yield pieceOf(key);
}

/** Answers a run with one piece that covers its range. */
async function* onePiece({ keys: [key = ''], range }: RunOptions) {
  const piece = pieceOf(key);
  yield { ...piece, coverage: { ...piece.coverage, slot: range.last } };
}

/** Returns a chain of one segment. */
const wholeOf = (blocks: Parameters<typeof sealRun>[0]) =>
  applyChanges(emptySnapshot, [
    { kind: 'create', anchor: { number: slot(9), hash: hash('a9') } },
    { kind: 'append-sealed', segments: [sealLarge(blocks)] },
  ]);

const pool = {
  open: (key: string, { kind }: { kind: string }) => opened.push({ key, kind }),
  close: (key: string) => closed.push(key),
  run: (one: RunOptions) => {
    runs.push(one);
    return (instead ?? answer)(one);
  },
} as unknown as EnginePool;

const dataset = {
  description: { name: 'test' },
  segmentPath: ({ id }: { id: string }) => id,
  reportDamage: ({ id }: { id: string }) => damages.push(id),
  readHotBlock: async (_: HotBlock, allocate: Allocate) => {
    hotReads++;
    return allocate(16);
  },
} as unknown as DatasetReader;

async function evaluate(first: number, last: number, chain: ChainSnapshot = snapshot) {
  const segments = new DatasetSegments({ dataset, pool });
  const job = {
    selection: parseTestQuery({ fromBlock: 0 }),
    snapshot: chain,
    ...{ first, last, isUrgent: true, form: 'plain' as const },
    signal: new AbortController().signal,
  };
  const results: EvaluatedBlocks[] = [];
  for await (const blocks of new EngineEvaluator({ pool, segments }).evaluate(job)) {
    results.push(blocks);
  }
  return results;
}

const slotsOf = (results: readonly EvaluatedBlocks[]) =>
  results.map(({ lastCovered }) => lastCovered.number as number);
const counts = () => runs.map(({ keys }) => keys.length);
const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);

describe('runs', () => {
  test('default: one segment first, then two, then eight at a time, then eight hot blocks at a time', async () => {
    expect(slotsOf(await evaluate(10, 49))).toEqual(range(10, 49));
    expect(counts()).toEqual([1, 2, 8, 8, 1, 8, 8, 4]);
    expect(runs.map(({ partBlocksMin }) => partBlocksMin)).toEqual([
      ...Array(5).fill(Infinity),
      ...Array(3).fill(1),
    ]);
    // A segment is always evaluated by the same thread; hot blocks alternate.
    expect(runs.map(({ turn }) => turn)).toEqual([0, 1, 3, 11, 19, 0, 1, 2]);
    expect(runs.map(({ partCount }) => partCount)).toEqual([
      1,
      ...Array(4).fill(undefined),
      ...[8, 8, 4],
    ]);
    expect(runs.at(-1)).toMatchObject({ range: { first: 46, last: 49 }, isUrgent: true });
  });

  test('behavior: the first run has four slots of a segment, so that one thread soon writes the first line', async () => {
    const whole = wholeOf(run.slice(0, 20));
    instead = onePiece;
    const ranges = async (first: number, last: number, bytes: number) => {
      [runs, textBytes] = [[], bytes];
      await evaluate(first, last, whole);
      return runs.map(({ range, partBlocksMin }) => [range.first, range.last, partBlocksMin]);
    };
    const bytesMax = (aheadBytesMax * 4) / 20;
    expect(await ranges(10, 29, bytesMax)).toEqual([
      [10, 13, Infinity],
      [14, 29, Infinity],
    ]);
    // A range that begins before the dataset yields as much text for each slot.
    expect(await ranges(0, 29, bytesMax + 1)).toEqual([
      [0, 13, Infinity],
      [14, 29, 1],
    ]);
    expect(await ranges(15, 17, 1)).toEqual([[15, 17, Infinity]]);
    expect(await ranges(28, 99, 1)).toEqual([[28, 29, Infinity]]);
  });

  test('limit: the second run has eight segments if the candidates of the first one can yield only text that is buffered', async () => {
    candidateShare = aheadBytesMax / 16 / byteLength;
    await evaluate(10, 29);
    expect(counts()).toEqual([1, 8, 8, 3]);
    runs = [];
    candidateShare *= 1.01;
    await evaluate(10, 29);
    expect(counts()).toEqual([1, 2, 8, 8, 1]);
  });

  test('behavior: only segments and blocks of the range are evaluated', async () => {
    await evaluate(11, 14);
    expect(counts()).toEqual([1, 2, 1]);
    runs = [];
    await evaluate(28, 31);
    expect(counts()).toEqual([1, 1, 2]);
    runs = [];
    await evaluate(30, 30);
    expect(counts()).toEqual([1]);
    runs = [];
    await evaluate(50, 60);
    expect(counts()).toEqual([]);
  });

  test('limit: segments that yield more text than is read ahead are divided among the threads', async () => {
    textBytes = aheadBytesMax;
    await evaluate(10, 12);
    expect(runs.map(({ partBlocksMin }) => partBlocksMin)).toEqual([Infinity, Infinity]);
    runs = [];
    textBytes = aheadBytesMax + 1;
    await evaluate(10, 12);
    expect(runs.map(({ partBlocksMin, turn }) => [partBlocksMin, turn])).toEqual([
      [Infinity, 0],
      [1, 0],
    ]);
  });

  test('limit: a part of a divided segment has no more text than a thread may be ahead', async () => {
    instead = onePiece;
    const partBlocks = async (firstBytes: number) => {
      [runs, textBytes] = [[], firstBytes];
      await evaluate(10, 49, wholeOf(run));
      return runs[1]?.partBlocksMin;
    };
    // The first run has four slots.
    const third = Math.floor((aheadBytesFloor * 4) / 3);
    expect(await partBlocks(third)).toBe(3);
    expect(await partBlocks(third + 1)).toBe(2);
    expect(await partBlocks(aheadBytesFloor * 4 + 1)).toBe(1);
  });

  test('behavior: a run that was cut for others continues after its last block', async () => {
    instead = async function* (one) {
      if (runs.length === 2) {
        yield pieceOf(one.keys[0] as string);
        throw new CodedError('engine-run-cut');
      }
      yield* answer(one);
    };
    expect(slotsOf(await evaluate(10, 14))).toEqual(range(10, 14));
    expect(runs.map(({ range: { first } }) => first)).toEqual([10, 11, 12, 14]);
  });
});

describe('pieces', () => {
  test('behavior: a line in several pieces is passed on whole, and released whole', async () => {
    instead = async function* ({ keys: [key = ''] }) {
      yield pieceOf(key, 5, false);
      yield pieceOf(key, 6, false);
      yield pieceOf(key, 7);
    };
    const [result] = await evaluate(10, 10);
    expect(result?.piece?.byteLength).toBe(18);
    expect(released).toBe(0);
    result?.piece?.release();
    expect(released).toBe(3);
    expect(result?.headerLine().parts.map(String)).toEqual(['header']);
  });

  test('behavior: blocks without lines have no piece, and their memory is released', async () => {
    textBytes = 0;
    const [result] = await evaluate(10, 10);
    expect([result?.piece, released]).toEqual([null, 1]);
  });

  test('behavior: compressed bytes alone are a piece', async () => {
    const deflated = { bytes: new Uint8Array(3), crc: 0, plainLength: 9 };
    instead = async function* ({ keys: [key = ''] }) {
      yield { ...pieceOf(key, 0), deflated };
    };
    const [result] = await evaluate(10, 10);
    expect(result?.piece?.deflatedParts).toEqual([deflated]);
  });

  test('behavior: an end within a line is a bug, and its memory is released', async () => {
    instead = async function* ({ keys: [key = ''] }) {
      yield pieceOf(key, 5, false);
    };
    await expect(evaluate(10, 10)).rejects.toThrow('ends on a line');
    expect(released).toBe(1);
  });
});

describe('open segments', () => {
  test('behavior: files are opened by path and hot blocks once in memory', async () => {
    await evaluate(29, 31);
    expect(opened.map(({ kind }) => kind)).toEqual(['file', 'memory', 'memory']);
    expect(hotReads).toBe(2);
    const segments = new DatasetSegments({ dataset, pool });
    const [first, second] = await Promise.all([
      segments.useHot(snapshot.hot.slice(0, 1)),
      segments.useHot(snapshot.hot.slice(0, 1)),
    ]);
    expect(hotReads).toBe(3);
    expect(first?.keys).toEqual(second?.keys);
    first?.release();
    second?.release();
    expect(() => first?.release()).toThrow('must be in use');
  });

  test('behavior: every segment and block is released after its run, also after a failure', async () => {
    const used = vi.spyOn(OpenSegments.prototype, 'use');
    const left = vi.spyOn(OpenSegments.prototype, 'leave');
    await evaluate(10, 49);
    expect(used).toHaveBeenCalledTimes(40);
    expect(left).toHaveBeenCalledTimes(40);
    instead = async function* () {
      yield* [];
      throw new CodedError('engine-cancelled');
    };
    await expect(evaluate(10, 10)).rejects.toThrow();
    expect(left).toHaveBeenCalledTimes(41);
    vi.restoreAllMocks();
  });

  test('behavior: segments of an object store are opened where they are cached', () => {
    const remote = { location: { kind: 'cached' }, fetch: async () => undefined };
    const reader = { ...dataset, remoteSegment: () => remote } as unknown as DatasetReader;
    const segments = new DatasetSegments({ dataset: reader, pool });
    const [used] = [segments.useSealed(snapshot.segments.slice(0, 1))];
    segments.useSealed(snapshot.segments.slice(0, 1));
    expect(opened).toEqual([{ key: used?.keys[0], kind: 'cached' }]);
  });

  test('behavior: a hot block that cannot be read releases those before it', async () => {
    let count = 0;
    const failing = {
      ...dataset,
      readHotBlock: async (_: HotBlock, allocate: Allocate) => {
        if (count++ > 0) throw new TypeError('unreadable');
        return allocate(16);
      },
    } as unknown as DatasetReader;
    const segments = new DatasetSegments({ dataset: failing, pool });
    await expect(segments.useHot(snapshot.hot.slice(0, 2))).rejects.toThrow('unreadable');
    // The first block is open and unused, so it can be used again without a read.
    const used = await segments.useHot(snapshot.hot.slice(0, 1));
    used.release();
    expect(() => used.release()).toThrow('must be in use');
    await expect(segments.useHot(snapshot.hot.slice(1, 2))).rejects.toThrow('unreadable');
  });

  test('behavior: damage of a segment is reported to its dataset, other failures are not', async () => {
    const fail = (code: 'segment-damaged' | 'segment-missing' | 'file-unreadable') => {
      instead = async function* ({ keys: [key = ''] }) {
        yield* [];
        throw new SegmentFailure({ key, code, detail: {} });
      };
      return evaluate(10, 10);
    };
    await expect(fail('segment-damaged')).rejects.toMatchObject({ code: 'segment-damaged' });
    expect(damages).toEqual([snapshot.segments[0]?.id]);
    await expect(fail('file-unreadable')).rejects.toMatchObject({ code: 'file-unreadable' });
    expect(damages).toHaveLength(1);
    await expect(fail('segment-missing')).rejects.toMatchObject({ code: 'segment-missing' });
    expect(damages.splice(1)).toEqual([snapshot.segments[0]?.id]);
    const { reportDamage } = new DatasetSegments({ dataset, pool }).useSealed([]);
    reportDamage(new SegmentFailure({ key: 'other', code: 'segment-damaged', detail: {} }));
    expect(damages).toHaveLength(1);
  });

  test('limit: unused segments are closed beyond the limit, those in use are not', () => {
    const open = new OpenSegments(pool);
    const file = { kind: 'file', path: 'x' } as const;
    open.open('used', file);
    open.use('used');
    for (let i = 0; i < idleCountMax; i++) {
      open.open(`idle ${i}`, file);
      open.use(`idle ${i}`);
      open.leave(`idle ${i}`);
    }
    expect(closed).toEqual(['idle 0']);
    expect([open.has('used'), open.has('idle 0'), open.has('idle 1')]).toEqual([true, false, true]);
    expect(() => open.use('nowhere')).toThrow('must be open');
    expect(() => open.leave('nowhere')).toThrow('must be in use');
    expect(() => open.leave('idle 1')).toThrow('must be in use');
  });
});
