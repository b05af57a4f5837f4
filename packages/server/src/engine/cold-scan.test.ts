/** How often a scan of a remote segment waits for the store, and how much it fetches. */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import { CachedRangeFile } from '../object-store/cached-range-file.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import { cacheFilePath, countGranules, granuleBytes, Presence } from '../object-store/presence.ts';
import type { Selection } from '../query/query.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { Engine } from './engine.ts';
import { parseTestQuery } from './testing/arbitrary-query.ts';
import { ReadAhead } from './threads/read-ahead.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-cold-'));
afterAll(() => rmSync(folder, { recursive: true }));

// A row group has at most 512 blocks, so the segment has five row groups.
const blocks = simulatedBlocks({
  content: { profile: '2025', transactionsPerBlock: 2, epochRewardsPerBlock: 0 },
  firstSlot: 432_290,
  blockCount: 5 * 512,
});
const bytes = buildSegment(blocks);
const [program = ''] = blocks.flatMap(({ instructions }) =>
  instructions.map((one) => one.programId),
);

/** A store that delivers at once what is requested in advance, and counts how often a reader waits. */
class CountingStore {
  readonly presence = Presence.create(bytes.length);
  readonly file: CachedRangeFile;
  readonly #descriptor: number;
  waitCount = 0;
  requestCount = 0;
  fetchedBytes = 0;

  constructor() {
    const path = cacheFilePath(folder, 1);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, new Uint8Array(bytes.length));
    this.#descriptor = openSync(path, 'r+');
    this.presence.startFile(1);
    const file = { folder, byteLength: bytes.length, presence: this.presence.buffer };
    this.file = new CachedRangeFile(
      { kind: 'cached', ...file },
      {
        fetchNow: (ranges) => {
          this.waitCount++;
          this.#fetch(ranges);
        },
        fetchAhead: (ranges) => this.#fetch(ranges),
      },
    );
  }

  #fetch(ranges: readonly ByteRange[]): void {
    for (const run of this.presence.planRuns(ranges)) {
      writeSync(this.#descriptor, bytes, run.start, run.end - run.start, run.start);
      this.presence.add(run);
      this.requestCount++;
      this.fetchedBytes += run.end - run.start;
    }
  }

  close(): void {
    this.file.close();
    closeSync(this.#descriptor);
  }
}

/** Runs a query as a thread does: one row group at a time, the next ones requested in advance. */
function scan(store: CountingStore, selection: Selection): string {
  const { file } = store;
  file.fetchOpening();
  const engine = new Engine({ cacheBytesMax: 1 << 24 });
  engine.open('cold', file);
  const run = engine.begin('cold', selection);
  const ahead = new ReadAhead({
    groupCount: run.groupCount,
    isSkipped: (group) => run.skips(group),
    rangesOf: (group, parts) => run.rangesOf(group, parts),
    dictionariesOf: (parts) => run.dictionariesOf(parts),
    missing: (ranges) => file.missing(ranges),
    fetchAhead: (ranges) => file.fetchAhead(ranges),
  });
  const pieces: Uint8Array[] = [];
  ahead.advance(0, run.certainParts);
  for (let batch = run.nextBatch(0, 0); batch !== undefined; batch = run.nextBatch(batch.end, 0)) {
    for (const piece of run.batchPieces(batch)) pieces.push(piece.slice());
    ahead.advance(batch.end, run.lastParts ?? run.certainParts);
  }
  run.release();
  return Buffer.concat(pieces).toString();
}

/** Returns the text of a local segment, and how many bytes were read, counted in the units that a store delivers. */
function scanLocally(selection: Selection): { text: string; neededBytes: number } {
  const presence = Presence.create(bytes.length);
  const note = (offset: number, length: number) => {
    for (const run of presence.planRuns([{ start: offset, end: offset + length }]))
      presence.add(run);
    return bytes.subarray(offset, offset + length);
  };
  const engine = new Engine({ cacheBytesMax: 1 << 24 });
  engine.open('local', {
    length: bytes.length,
    read: note,
    readInto: (offset, target) => {
      const found = note(offset, target.length);
      target.set(found);
      return found.length;
    },
  });
  const text = Buffer.concat([...engine.run('local', selection)]).toString();
  return { text, neededBytes: countGranules(presence.runs) * granuleBytes };
}

test.each([
  ['all transactions', { transactions: [{}], fields: { transaction: { fee: true } } }, 3],
  ['everything', { transactions: [{ instructions: true, logs: true, balances: true }] }, 4],
  ['one program', { instructions: [{ programId: [program] }] }, 10],
] as const)(
  'limit: a cold scan of %s waits for the store a few times, however many row groups there are',
  (_, body, waitCountMax) => {
    const selection = parseTestQuery({ fromBlock: 0, ...body } as never);
    const local = scanLocally(selection);
    const store = new CountingStore();
    expect(scan(store, selection)).toBe(local.text);
    expect(store.waitCount).toBeLessThanOrEqual(waitCountMax);
    expect(store.fetchedBytes).toBeLessThan(local.neededBytes * 1.3 + (128 << 10));
    store.close();
  },
);

test('behavior: a scan of few pages fetches little of the segment', () => {
  const rare = blocks.at(700)?.transactions.at(-1)?.accountKeys[0];
  const selection = parseTestQuery({ fromBlock: 0, transactions: [{ feePayer: [rare] }] } as never);
  const store = new CountingStore();
  expect(scan(store, selection)).toBe(scanLocally(selection).text);
  expect(store.fetchedBytes).toBeLessThan(bytes.length / 2);
  store.close();
});

test('limit: four row groups are requested in advance at first, and more while batches need the same parts', () => {
  const requested: number[] = [];
  const parts = { sections: new Set([1]), hasNewKeys: false };
  const ahead = new ReadAhead({
    groupCount: 100,
    isSkipped: (group) => group % 2 === 1,
    rangesOf: (group) => [{ start: group, end: group + 1 }],
    dictionariesOf: () => [],
    missing: (ranges) => ranges.filter(({ start }) => !requested.includes(start)),
    fetchAhead: (ranges) => requested.push(...ranges.map(({ start }) => start)),
  });
  const upTo = (last: number) => Array.from({ length: last / 2 + 1 }, (_, i) => i * 2);
  ahead.advance(0, parts);
  expect(requested).toEqual(upTo(6));
  ahead.advance(2, parts);
  expect(requested).toEqual(upTo(16));
  ahead.advance(4, { ...parts, hasNewKeys: true });
  expect(requested).toEqual(upTo(16));
});

test('limit: the bytes that are requested in advance are limited, and a pending range is not requested again', () => {
  const requests: (readonly ByteRange[])[] = [];
  const step = 6 << 20;
  const ahead = new ReadAhead({
    groupCount: 100,
    isSkipped: () => false,
    rangesOf: (group) => [{ start: group * step, end: (group + 1) * step }],
    dictionariesOf: () => [],
    // Nothing arrives.
    missing: (ranges) => [...ranges],
    fetchAhead: (ranges) => requests.push(ranges),
  });
  const parts = { sections: new Set([1]), hasNewKeys: false };
  for (let i = 0; i < 5; i++) ahead.advance(0, parts);
  expect(requests.flat()).toHaveLength(2);
});
