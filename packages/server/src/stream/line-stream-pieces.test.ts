/** How a response passes on pieces, with evaluations that a test controls. */

import type { BlockRef } from '@sluice/ledger/block';
import { beforeEach, expect, test } from 'vitest';
import { parseTestQuery } from '../engine/testing/arbitrary-query.ts';
import { batchBytesMax } from './block-collector.ts';
import type { EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import type { StreamRange } from './decide-start.ts';
import type { Followers, WaitOptions } from './followers.ts';
import { LinePiece } from './line-piece.ts';
import { LineStream, type StreamDependencies } from './line-stream.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import { STREAM_LIMITS } from './stream-limits.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';

type SharedRange = Parameters<SharedEvaluations['evaluateSome']>[0];

let dataset: MemoryDataset;
let clock: ManualClock;
let asked: SharedRange[];
let jobs: EvaluationJob[];
let waits: WaitOptions[];
let stop: AbortController;
let faults: unknown[];
let returnCount: number;
/** Answers a shared evaluation. */
let evaluateSome: (range: SharedRange) => { blocks: EvaluatedBlocks[]; last: number };
/** The runs of a scan. */
let scanned: () => AsyncGenerator<EvaluatedBlocks>;

beforeEach(() => {
  dataset = new MemoryDataset();
  dataset.extend(Array.from({ length: 10 }, (_, i) => i));
  clock = new ManualClock();
  [asked, jobs, waits, faults] = [[], [], [], []];
  returnCount = 0;
  stop = new AbortController();
  evaluateSome = ({ last }) => ({ blocks: [blockAt(last)], last });
  scanned = async function* () {
    yield blockAt(9);
  };
});

/** The result up to a slot, with a piece of this size, or without lines. */
function blockAt(slot: number, byteLength?: number, endsWithLine = byteLength !== undefined) {
  const lastCovered: BlockRef = dataset.refAt(slot);
  const piece = byteLength === undefined ? null : new LinePiece(new Uint8Array(byteLength));
  const headerLine = () => new LinePiece(Buffer.from(`header ${slot}\n`));
  return { piece, lastCovered, endsWithLine, headerLine } satisfies EvaluatedBlocks;
}

interface Settings {
  readonly range?: Partial<StreamRange>;
  readonly isDeflated?: boolean;
  readonly isFed?: boolean;
  /** Whether the range is evaluated for this stream alone. */
  readonly isAlone?: boolean;
}

function makeStream({ range, isDeflated = false, isFed = false, isAlone = false }: Settings = {}) {
  const whole = { fromBlock: 0, toBlock: undefined, parentBlockHash: undefined };
  const dependencies = {
    dataset,
    clock,
    isFed,
    limits: { ...STREAM_LIMITS, sharedSlotCountMax: isAlone ? 0 : 256 },
    reportFault: (error: unknown) => faults.push(error),
    shared: {
      evaluateSome: async (one: SharedRange) => {
        asked.push(one);
        return evaluateSome(one);
      },
    } as unknown as SharedEvaluations,
    evaluator: {
      evaluate: (job: EvaluationJob) => {
        jobs.push(job);
        const runs = scanned();
        const end = runs.return.bind(runs);
        runs.return = (value) => {
          returnCount++;
          return end(value);
        };
        return runs;
      },
    },
    followers: {
      wait: async (options: WaitOptions) => {
        waits.push(options);
        await clock.advance(options.deadlineMs - clock.nowMs());
      },
    } as unknown as Followers,
  } satisfies StreamDependencies;
  return new LineStream(
    {
      selection: parseTestQuery({ fromBlock: 0 }),
      range: { ...whole, finalizedOnly: false, ...range },
      signal: stop.signal,
      isDeflated,
    },
    dependencies,
  );
}

/** Returns the sizes of the pieces, or the text of short ones, and the reason of the end. */
async function readAll(stream: LineStream): Promise<(number | string)[]> {
  const read: (number | string)[] = [];
  for (;;) {
    const next = await stream.next();
    if (next.done === true) return [...read, next.value];
    const { byteLength, parts } = next.value;
    read.push(byteLength < 20 ? Buffer.concat(parts).toString() : byteLength);
  }
}

test('limit: pieces are joined for one write up to the size of a batch; a longer one is sent alone', async () => {
  const half = batchBytesMax / 2;
  const sizes = [half, half, 100, batchBytesMax + 1, 50, 50];
  evaluateSome = ({ last }) => ({ blocks: sizes.map((size, i) => blockAt(i + 4, size)), last });
  const stream = makeStream();
  expect(await stream.start(dataset.acquire())).toBeNull();
  expect(await readAll(stream)).toEqual([batchBytesMax, 100, batchBytesMax + 1, 100, 'complete']);
  expect(dataset.leaseCount).toBe(0);
});

test('behavior: a part of the range is continued above it, in the newest snapshot', async () => {
  evaluateSome = ({ first }) => ({ blocks: [blockAt(first + 3, 30)], last: first + 3 });
  const stream = makeStream({ range: { toBlock: 7 } });
  await stream.start(dataset.acquire());
  expect(await readAll(stream)).toEqual([30, 30, 'complete']);
  expect(asked.map(({ first, last }) => [first, last])).toEqual([
    [0, 7],
    [4, 7],
  ]);
});

test('behavior: a stream ends with the line of its last block, once', async () => {
  const without = makeStream();
  await without.start(dataset.acquire());
  expect(await readAll(without)).toEqual(['header 9\n', 'complete']);
  evaluateSome = ({ last }) => ({ blocks: [blockAt(last, 30)], last });
  const withLine = makeStream();
  await withLine.start(dataset.acquire());
  expect(await readAll(withLine)).toEqual([30, 'complete']);
});

test('behavior: skipped slots alone give no line, and the stream is complete', async () => {
  evaluateSome = ({ last }) => ({ blocks: [], last });
  const stream = makeStream({ range: { fromBlock: 8, toBlock: 9 } });
  expect(await stream.start(dataset.acquire())).toBe('complete');
  expect(await readAll(stream)).toEqual(['complete']);
});

test.each([true, false])(
  'behavior: pieces are compressed in advance only if that is wanted (%s)',
  async (isDeflated) => {
    const block = blockAt(9, 1_000);
    evaluateSome = ({ last }) => ({ blocks: [block], last });
    const stream = makeStream({ isDeflated });
    await stream.start(dataset.acquire());
    await new Promise((resolve) => setImmediate(resolve));
    expect(block.piece?.deflatedParts === undefined).toBe(!isDeflated);
    expect(asked[0]?.isDeflated).toBe(isDeflated);
  },
);

test.each([
  [true, 'deflated'],
  [false, 'plain'],
] as const)(
  'behavior: a range of one stream alone is evaluated in its own form (%s)',
  async (isDeflated, form) => {
    const stream = makeStream({ isDeflated, isAlone: true, range: { fromBlock: 3 } });
    await stream.start(dataset.acquire());
    expect(jobs).toMatchObject([{ form, first: 3, last: 9, isUrgent: false }]);
    expect(await readAll(stream)).toEqual(['header 9\n', 'complete']);
    expect([returnCount, dataset.leaseCount]).toEqual([1, 0]);
  },
);

test('behavior: an abort ends a scan after the block that was being evaluated', async () => {
  scanned = async function* () {
    yield blockAt(2, 30);
    stop.abort();
    yield blockAt(3, 30);
    yield blockAt(9, 30);
  };
  const stream = makeStream({ isAlone: true });
  await stream.start(dataset.acquire());
  expect(await readAll(stream)).toEqual([30, 30, 'closing']);
  expect([returnCount, dataset.leaseCount, faults]).toEqual([1, 0, []]);
});

test('error: a failure of a scan is reported once and ends the response with a whole line', async () => {
  const fault = new TypeError('unreadable');
  scanned = async function* () {
    yield blockAt(2);
    throw fault;
  };
  const stream = makeStream({ isAlone: true });
  await stream.start(dataset.acquire());
  expect(await readAll(stream)).toEqual(['header 2\n', 'fault']);
  expect([faults, dataset.leaseCount]).toEqual([[fault], 0]);
});

test('behavior: a stream that waits gives its position; a bounded one does not', async () => {
  const following = makeStream({ isFed: true, isDeflated: true });
  await following.start(dataset.acquire());
  expect(await readAll(following)).toEqual(['header 9\n', 'quiet']);
  expect(waits[0]).toMatchObject({
    version: dataset.snapshot().version,
    deadlineMs: STREAM_LIMITS.markMs,
    atHead: { position: { next: 10, isDeflated: true, finalizedOnly: false } },
  });
  expect(waits[1]?.deadlineMs).toBe(STREAM_LIMITS.quietMsMax);
  waits = [];
  const bounded = makeStream({ isFed: true, range: { toBlock: 20 } });
  await bounded.start(dataset.acquire());
  await readAll(bounded);
  expect(waits[0]?.atHead).toBeUndefined();
});

test('behavior: new blocks are offered to the sink, and kept for the stream if it has no room', async () => {
  const stream = makeStream({ isFed: true });
  const offered: number[] = [];
  let hasRoom = true;
  stream.sendTo({
    offer: (piece) => {
      offered.push(piece.byteLength);
      return hasRoom;
    },
  });
  await stream.start(dataset.acquire());
  const first = await stream.next();
  expect(first.done).toBe(false);
  const pending = stream.next();
  await Promise.resolve();
  dataset.extend([10, 11, 12]);
  const take = waits.at(-1)?.atHead?.take;
  const { version } = dataset.snapshot();
  const deadlineMs = take?.({ blocks: [blockAt(10, 40), blockAt(11, 50)], last: 11, version });
  expect(offered).toEqual([90]);
  expect(deadlineMs).toBeGreaterThan(clock.nowMs());
  hasRoom = false;
  expect(take?.({ blocks: [blockAt(12, 60)], last: 12, version })).toBeNull();
  const next = await pending;
  expect(next.done === true ? next.value : next.value.byteLength).toBe(60);
  await stream.close();
});

test('behavior: a scan that takes a newer snapshot continues with the next slot', async () => {
  scanned = async function* () {
    yield blockAt(jobs.length === 1 ? 2 : 9, 30);
  };
  const stream = makeStream({ isAlone: true });
  await stream.start(dataset.acquire());
  await clock.advance(STREAM_LIMITS.snapshotMsMax);
  expect(await readAll(stream)).toEqual([30, 30, 'complete']);
  expect(jobs.map(({ first }) => first)).toEqual([0, 3]);
  expect(dataset.leaseCount).toBe(0);
});
