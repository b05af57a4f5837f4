import { encodeBase58 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { emptySnapshot, type SealedSegment } from '../chain/chain-snapshot.ts';
import type { CachedLocation } from '../object-store/cached-range-file.ts';
import { LinePiece } from './line-piece.ts';
import type { LineStream } from './line-stream.ts';
import type { OpenStreamOptions } from './open-stream.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { type WarmUpDataset, type WarmUpDependencies, warmUp } from './warm-up.ts';

type Pool = WarmUpDependencies['pool'];

/** Segments of ten slots each: 0 to 9, 10 to 19, and so on. */
function makeDataset(
  segmentCount: number,
  onOpen: (options: OpenStreamOptions) => unknown,
  lookups: WarmUpDataset['lookups'] = { transaction: () => Promise.reject(new Error('no lookup')) },
): WarmUpDataset {
  const segments = Array.from({ length: segmentCount }, (_, i) => ({
    id: String(i),
    first: { number: i * 10 },
    last: { number: i * 10 + 9 },
  }));
  const snapshot = { ...emptySnapshot, segments: segments as unknown as SealedSegment[] };
  const streams: WarmUpDataset['streams'] = {
    open: async (options) => {
      await onOpen(options);
      const closing = { reason: 'complete', fromBlock: 0, toBlock: 0, lastBlock: null } as const;
      return { kind: 'empty', heads: { head: null, finalized: null }, closing };
    },
  };
  const segmentPath = ({ id }: SealedSegment) => `segments/${id}`;
  const acquire = () => ({ snapshot, release: () => undefined });
  return { reader: { acquire, snapshot: () => snapshot, segmentPath }, streams, lookups };
}

/** A pool whose runs yield nothing. */
function makePool(parts: Partial<Pool> = {}): Pool {
  return {
    isIdle: true,
    requestCount: 0,
    open: () => undefined,
    close: () => undefined,
    run: async function* () {},
    ...parts,
  };
}

const location = { kind: 'cached' } as CachedLocation;
const { signal } = new AbortController();
const pool = makePool();
/** How often the newest segment is opened before whole segments are read. */
const openingCount = 160;

test('default: the newest segments of every dataset are queried, plain and compressed', async () => {
  const opened: OpenStreamOptions[] = [];
  const dataset = makeDataset(3, (options) => opened.push(options));
  await warmUp([dataset, makeDataset(0, () => undefined)], {
    clock: new ManualClock(),
    signal,
    pool,
  });
  const ranges = opened.map(({ query }) => `${query.fromBlock}-${query.toBlock}`);
  expect([...new Set(ranges)]).toEqual(['20-29', '10-19', '0-9']);
  expect(new Set(opened.map(({ isDeflated }) => isDeflated))).toEqual(new Set([false, true]));
});

test('behavior: transactions of the lines are looked up by their signatures', async () => {
  const signature = (character: string) => character.repeat(80);
  const text = ['2', '3', '4'].map((one) => `{"signatures":["${signature(one)}"]}`).join();
  const streams: WarmUpDataset['streams'] = {
    open: async () => ({
      kind: 'lines',
      heads: { head: null, finalized: null },
      lines: Object.assign(
        (async function* () {
          yield new LinePiece(Buffer.from(text));
        })(),
        { close: async () => undefined },
      ) as unknown as LineStream,
    }),
  };
  const found: string[] = [];
  const transaction: WarmUpDataset['lookups']['transaction'] = async (bytes) => {
    found.push(encodeBase58(bytes));
    return { value: '', snapshot: emptySnapshot };
  };
  const dataset = { ...makeDataset(1, () => undefined, { transaction }), streams };
  await warmUp([dataset], { clock: new ManualClock(), signal, pool });
  expect(found).toEqual(['2', '3', '4'].map(signature));
});

test('behavior: the newest segment is opened often, by all threads in turn, and closed each time', async () => {
  const [open, ranges, turns, paths] = [new Set<string>(), new Set(), new Map(), new Set()];
  let openCount = 0;
  const watched = makePool({
    open: (key, location) => {
      open.add(key);
      openCount++;
      paths.add(location.kind === 'file' ? location.path : undefined);
    },
    close: (key) => open.delete(key),
    run: async function* ({ keys, range, turn = 0, partBlocksMin, partCount }) {
      expect([...open]).toEqual(keys);
      expect([partBlocksMin, partCount]).toEqual([Infinity, 1]);
      ranges.add(`${range.first}-${range.last}`);
      turns.set(turn % 2, (turns.get(turn % 2) ?? 0) + 1);
      yield* [];
    },
  });
  const dataset = makeDataset(3, () => undefined);
  await warmUp([dataset], { clock: new ManualClock(), signal, pool: watched });
  expect([...paths]).toEqual(['segments/2']);
  expect([...ranges]).toEqual(['20-23']);
  expect([openCount, open.size]).toEqual([openingCount, 0]);
  expect(turns).toEqual(
    new Map([
      [0, openingCount / 2],
      [1, openingCount / 2],
    ]),
  );
});

test('error: a segment that cannot be opened is closed, and its file is no longer kept', async () => {
  let [closed, released] = [0, 0];
  const failing = makePool({
    close: () => closed++,
    run: async function* () {
      yield* [];
      throw new CodedError('segment-damaged', { segment: '2' });
    },
  });
  const dataset = makeDataset(1, () => expect.unreachable());
  const snapshot = dataset.reader.snapshot();
  const reader = { ...dataset.reader, acquire: () => ({ snapshot, release: () => released++ }) };
  await warmUp([{ ...dataset, reader }], { clock: new ManualClock(), signal, pool: failing });
  expect([closed, released]).toEqual([1, 1]);
});

test('behavior: a segment that was removed since the start is not opened', async () => {
  const dataset = makeDataset(1, () => undefined);
  const acquire = () => ({ snapshot: emptySnapshot, release: () => undefined });
  const unopened = makePool({ open: () => expect.unreachable() });
  const reader = { ...dataset.reader, acquire };
  await warmUp([{ ...dataset, reader }], { clock: new ManualClock(), signal, pool: unopened });
});

test('limit: at most 24 segments of a dataset are read', async () => {
  const ranges = new Set<number>();
  const dataset = makeDataset(100, ({ query }) => ranges.add(query.fromBlock));
  await warmUp([dataset], { clock: new ManualClock(), signal, pool });
  expect(Math.min(...ranges)).toBe(760);
  expect(ranges.size).toBe(24);
});

test('limit: the warm-up ends when its queries have taken 4 seconds together', async () => {
  const clock = new ManualClock();
  let count = 0;
  const dataset = makeDataset(100, () => {
    count++;
    return clock.advance(900);
  });
  await warmUp([dataset, dataset], { clock, signal, pool });
  expect(count).toBe(5);
});

test('behavior: the warm-up pauses while clients have queries, and gives up after 30 seconds', async () => {
  const clock = new ManualClock();
  let count = 0;
  let isBusy = true;
  const dataset = makeDataset(1, () => {
    count++;
    isBusy = count === 2;
  });
  const busyPool = Object.defineProperty(makePool(), 'isIdle', { get: () => !isBusy });
  const warmed = warmUp([dataset], { clock, signal, pool: busyPool });
  await clock.advance(5_000);
  expect(count).toBe(0);
  isBusy = false;
  await clock.advance(900);
  expect(count).toBe(0);
  await clock.advance(200);
  expect(count).toBe(2);
  await clock.advance(25_000);
  await warmed;
  expect(count).toBe(2);
});

test('behavior: the warm-up waits a second after a query of a client that began and ended between its own', async () => {
  const clock = new ManualClock();
  let [count, clientCount, calls] = [0, 0, 0];
  const dataset = makeDataset(9, () => {
    count++;
  });
  const countScans = () => {
    // The warm-up counts scans before and after each query, and once at its start. Before its third query a client had one.
    if (++calls === openingCount * 2 + 6) clientCount++;
    return count + clientCount;
  };
  const counting = Object.defineProperty(makePool(), 'requestCount', { get: countScans });
  const warmed = warmUp([dataset], { clock, signal, pool: counting });
  await clock.advance(900);
  expect(count).toBe(2);
  await clock.advance(100);
  await warmed;
  expect(count).toBe(36);
});

test('behavior: the warm-up ends when the service stops', async () => {
  const stop = new AbortController();
  let count = 0;
  const dataset = makeDataset(3, () => {
    count++;
    stop.abort();
  });
  await warmUp([dataset], { clock: new ManualClock(), signal: stop.signal, pool });
  expect(count).toBe(1);
});

test('behavior: segments in an object store are not read', async () => {
  const dataset = makeDataset(3, () => expect.unreachable());
  const reader = {
    ...dataset.reader,
    remoteSegment: () => ({ location, fetch: async () => undefined }),
  };
  await warmUp([{ ...dataset, reader }], { clock: new ManualClock(), signal, pool });
});

test('error: an unreadable segment ends the warm-up, but not the service', async () => {
  const dataset = makeDataset(3, () => {
    throw new CodedError('segment-damaged', { segment: '2' });
  });
  await expect(
    warmUp([dataset], { clock: new ManualClock(), signal, pool }),
  ).resolves.toBeUndefined();
});

test('behavior: every line is read and released, and every stream is closed', async () => {
  let [released, closed] = [0, 0];
  const options: OpenStreamOptions[] = [];
  const { reader, lookups } = makeDataset(1, () => undefined);
  const streams = {
    open: async (opening: OpenStreamOptions) => {
      options.push(opening);
      let left = 3;
      const lines = {
        next: async () =>
          left-- === 0
            ? { done: true, value: 'complete' }
            : { done: false, value: { parts: [], release: () => released++ } },
        close: async () => {
          closed++;
        },
      };
      return { kind: 'lines', lines };
    },
  } as unknown as WarmUpDataset['streams'];
  await warmUp([{ reader, streams, lookups }], { clock: new ManualClock(), signal, pool });
  expect(options.map(({ isDeflated }) => isDeflated)).toEqual([false, true, false, true]);
  expect(options.every(({ finalizedOnly }) => !finalizedOnly)).toBe(true);
  expect([released, closed]).toEqual([12, 4]);
});

test('behavior: a bug in a query is not hidden', async () => {
  const dataset = makeDataset(1, () => {
    throw new TypeError('a bug');
  });
  await expect(warmUp([dataset], { clock: new ManualClock(), signal, pool })).rejects.toThrow(
    'a bug',
  );
});

test('limit: a query starts neither after 4 seconds of work nor 30 seconds after the start', async () => {
  for (const [stepMs, expected] of [
    [1_000, 4],
    [30_000, 1],
  ] as const) {
    const clock = new ManualClock();
    let count = 0;
    const dataset = makeDataset(9, () => {
      count++;
      return clock.advance(stepMs);
    });
    await warmUp([dataset], { clock, signal, pool });
    expect(count).toBe(expected);
  }
});
