import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCodedError } from '@sluice/base/errors';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { afterAll, expect, test } from 'vitest';
import { sampleBlock } from '../../segment/testing/sample-block.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { parseTestQuery } from '../testing/arbitrary-query.ts';
import { answerQuery } from '../testing/reference/answer-query.ts';
import type { RunPiece } from './engine-messages.ts';
import { EnginePool } from './engine-pool.ts';
import { SegmentFailure } from './segment-failure.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-pool-'));
const pool = new EnginePool({ threadCount: 2, cacheBytesMax: 1 << 24 });
// 4,500 blocks are nine row groups, so both threads have parts inside a segment.
const blocks = Array.from({ length: 4_500 }, (_, slot) => sampleBlock(slot));
const halves = [blocks.slice(0, 3_000), blocks.slice(3_000)];
const everything = parseTestQuery({
  fromBlock: 0,
  transactions: [{ instructions: true, balances: true, tokenBalances: true, logs: true }],
  rewards: [{}],
});
const range = { first: 0, last: Infinity };

halves.forEach((half, i) => {
  const path = join(folder, `${i}.segment`);
  writeFileSync(path, buildSegment(half));
  pool.open(`half ${i}`, { kind: 'file', path });
});

afterAll(async () => {
  await pool.stop();
  rmSync(folder, { recursive: true });
});

async function collect(pieces: AsyncIterable<RunPiece>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const { bytes } of pieces) all.push(bytes);
  return Buffer.concat(all).toString();
}

const keys = ['half 0', 'half 1'];

test('default: several threads together return the same answer as the reference, in order', async () => {
  const answer = await collect(pool.run({ selection: everything, range, keys, lastKey: 'half 1' }));
  expect(answer).toBe(answerQuery(everything, blocks));
});

test('behavior: all threads decode by the IDLs that were given last', async () => {
  const program = blocks[0]?.instructions[0]?.programId ?? '';
  const text = JSON.stringify({ address: program, metadata: { name: 'given' }, instructions: [] });
  const idls = [{ name: 'a', text }];
  const selection = parseTestQuery({
    fromBlock: 0,
    fields: { instruction: { programId: true, decoded: true } },
    instructions: [{}],
  });
  pool.useIdls(idls);
  const answer = await collect(pool.run({ selection, range, keys, lastKey: 'half 1' }));
  expect(answer).toContain('"program":"given"');
  expect(answer).toBe(answerQuery(selection, blocks, new IdlRegistry(idls)));
  pool.useIdls([]);
  expect(await collect(pool.run({ selection, range, keys, lastKey: 'half 1' }))).toBe(
    answerQuery(selection, blocks),
  );
});

test('behavior: a pool has started when all threads receive messages, or when it is stopped', async () => {
  const [started, stopped] = [2, 1].map(
    (threadCount) => new EnginePool({ threadCount, cacheBytesMax: 1 << 20 }),
  ) as [EnginePool, EnginePool];
  let isStarted = false;
  const waited = stopped.started.then(() => {
    isStarted = true;
  });
  await Promise.resolve();
  expect(isStarted).toBe(false);
  await stopped.stop();
  await waited;
  await started.started;
  await started.stop();
}, 20_000);

test.each(
  [1, 700, Infinity].flatMap((partBlocksMin) => [0, 1, 7].map((turn) => [partBlocksMin, turn])),
)(
  'behavior: threads return text in order, if parts have %i blocks or more, for every first thread (turn %i)',
  async (partBlocksMin, turn) => {
    const how = { partBlocksMin, turn };
    const whole = { selection: everything, range, keys, lastKey: 'half 1', ...how };
    expect(await collect(pool.run(whole))).toBe(answerQuery(everything, blocks));
    const query = parseTestQuery({ fromBlock: 700, toBlock: 3_333 });
    const part = { selection: query, range: { first: 700, last: 3_333 } };
    expect(await collect(pool.run({ ...part, keys, lastKey: 'half 1', ...how }))).toBe(
      answerQuery(query, blocks),
    );
  },
);

test('behavior: released memory is reused, and no piece changes before it is released', async () => {
  for (let round = 0; round < 3; round++) {
    const texts: string[] = [];
    const held: RunPiece[] = [];
    for await (const piece of pool.run({ selection: everything, range, keys, lastKey: 'half 1' })) {
      held.push(piece);
      // The reader is a few pieces behind, like a socket.
      if (held.length > 3) texts.push(readAndRelease(held.shift() as RunPiece));
    }
    texts.push(...held.map(readAndRelease));
    expect(texts.join('')).toBe(answerQuery(everything, blocks));
  }
});

function readAndRelease({ bytes, release }: RunPiece): string {
  const text = Buffer.from(bytes).toString();
  release();
  return text;
}

test('behavior: a range that begins and ends inside row groups returns a line for its last block', async () => {
  const query = parseTestQuery({ fromBlock: 700, toBlock: 3_333 });
  const part = { first: 700, last: 3_333 };
  const answer = await collect(
    pool.run({ selection: query, range: part, keys, lastKey: 'half 1' }),
  );
  expect(answer).toBe(answerQuery(query, blocks));
});

test('behavior: every piece reports how far blocks are covered, with or without lines', async () => {
  const query = parseTestQuery({ fromBlock: 10, toBlock: 4_000, logs: [{ programId: [] }] });
  const slots: number[] = [];
  const part = { first: 10, last: 4_000 };
  for await (const { bytes, coverage } of pool.run({
    selection: query,
    range: part,
    keys,
    turn: 1,
  })) {
    expect(bytes.length).toBe(0);
    expect(coverage?.endsWithLine).toBe(false);
    expect(coverage?.candidateShare).toBe(0);
    slots.push(coverage?.slot ?? -1);
    expect(coverage?.hash).toBe(blocks[slots.at(-1) as number]?.header.hash);
    const header = answerQuery(query, [blocks[slots.at(-1) as number] as (typeof blocks)[number]]);
    expect(Buffer.from(coverage?.headerLine ?? []).toString()).toBe(header);
  }
  expect(slots).toEqual([...slots].sort((a, b) => a - b));
  expect(slots.at(-1)).toBe(4_000);
});

test.each([
  ['all transactions', { transactions: [{}] }, 1],
  ['all transactions twice', { transactions: [{}], logs: [{}] }, 1],
  ['rewards', { rewards: [{}] }, 1],
  ['an absent address', { logs: [{ programId: ['11111111111111111111111111111112'] }] }, 0],
] as const)(
  'behavior: pieces report the share of transactions that %s may match',
  async (_, items, share) => {
    const selection = parseTestQuery({ fromBlock: 0, ...items });
    const shares = new Set<number | undefined>();
    for await (const { coverage } of pool.run({ selection, range, keys }))
      if (coverage !== undefined) shares.add(coverage.candidateShare);
    expect([...shares]).toEqual([share]);
  },
);

test('behavior: concurrent runs each get their own answer', async () => {
  const queries = Array.from({ length: 12 }, (_, i) =>
    parseTestQuery({ fromBlock: i * 100, includeAllBlocks: i % 2 === 0, logs: [{}] }),
  );
  const answers = await Promise.all(
    queries.map((selection) =>
      collect(
        pool.run({
          selection,
          range: { first: selection.fromBlock, last: Infinity },
          keys,
          lastKey: 'half 1',
        }),
      ),
    ),
  );
  answers.forEach((answer, i) => {
    expect(answer).toBe(answerQuery(queries[i] as (typeof queries)[number], blocks));
  });
});

test('behavior: a reader that leaves early frees the threads for the next reader', async () => {
  for await (const piece of pool.run({ selection: everything, range, keys })) {
    expect(piece.bytes.length).toBeGreaterThan(0);
    break;
  }
  const query = parseTestQuery({ fromBlock: 4_499 });
  const last = { first: 4_499, last: 4_499 };
  const answer = await collect(
    pool.run({ selection: query, range: last, keys, lastKey: 'half 1' }),
  );
  expect(answer).toBe(answerQuery(query, blocks));
});

test('error: engine-cancelled when the signal aborts', async () => {
  const controller = new AbortController();
  const run = collect(pool.run({ selection: everything, range, keys, signal: controller.signal }));
  controller.abort();
  await expect(run).rejects.toSatisfy((error) => isCodedError(error, 'engine-cancelled'));
});

test('error: segment-damaged names the damaged unit and fails only its own run', async () => {
  const bytes = buildSegment(halves[0] as typeof blocks);
  bytes[40] = (bytes[40] as number) ^ 1;
  pool.open('damaged', { kind: 'memory', bytes });
  const run = collect(pool.run({ selection: everything, range, keys: ['damaged'] }));
  await expect(run).rejects.toSatisfy(
    (error) =>
      isCodedError(error, 'segment-damaged') && String(error.detail['unit']).startsWith('group 0.'),
  );
  pool.close('damaged');
  expect(await collect(pool.run({ selection: everything, range, keys: ['half 1'] }))).toBe(
    answerQuery(everything, halves[1] as typeof blocks),
  );
});

test('error: segment-damaged comes after all text before the damage and names the segment', async () => {
  const bytes = buildSegment(halves[1] as typeof blocks);
  bytes[40] = (bytes[40] as number) ^ 1;
  pool.open('damaged', { kind: 'memory', bytes });
  const run = pool.run({ selection: everything, range, keys: ['half 0', 'damaged'] });
  let text = '';
  const reading = (async () => {
    for await (const piece of run) text += readAndRelease(piece);
  })();
  await expect(reading).rejects.toSatisfy(
    (error) =>
      isCodedError(error, 'segment-damaged') &&
      error instanceof SegmentFailure &&
      error.key === 'damaged',
  );
  // Compared as a whole, because a difference of megabytes would make the report useless.
  expect(text === answerQuery(everything, halves[0] as typeof blocks)).toBe(true);
  pool.close('damaged');
});

test('error: segment-missing if the file does not exist', async () => {
  pool.open('gone', { kind: 'file', path: join(folder, 'gone.segment') });
  const run = collect(pool.run({ selection: everything, range, keys: ['gone'] }));
  await expect(run).rejects.toSatisfy((error) => isCodedError(error, 'segment-missing'));
  pool.close('gone');
});

test('behavior: a segment that is closed during a run is read to its end, reported closed once, and can be opened again', async () => {
  const bytes = buildSegment(halves[0] as typeof blocks);
  let closedCount = 0;
  const place = { kind: 'memory', bytes } as const;
  pool.open('again', place, () => closedCount++);
  const run = pool.run({ selection: everything, range, keys: ['again'] });
  const first = await run.next();
  pool.close('again');
  // The threads still read the segment that was opened before.
  pool.open('again', place);
  const second = await collect(pool.run({ selection: everything, range, keys: ['again'] }));
  expect(second).toBe(answerQuery(everything, halves[0] as typeof blocks));
  let text = Buffer.from(first.value?.bytes ?? []).toString();
  for await (const piece of run) {
    text += Buffer.from(piece.bytes).toString();
    piece.release();
  }
  expect(text).toBe(second);
  while (closedCount === 0) await new Promise((resolve) => setImmediate(resolve));
  pool.close('again');
  await collect(pool.run({ selection: everything, range, keys: ['half 1'] }));
  expect(closedCount).toBe(1);
});

test('error: engine-cancelled: a request that is still open after the pool was stopped fails without an assertion', async () => {
  const stopped = new EnginePool({ threadCount: 1, cacheBytesMax: 1 << 20 });
  stopped.open('half 0', { kind: 'file', path: join(folder, '0.segment') });
  await stopped.stop();
  const cancelled = { code: 'engine-cancelled' };
  const run = stopped.run({ selection: everything, range, keys: ['half 0'], lastKey: 'half 0' });
  await expect(collect(run)).rejects.toMatchObject(cancelled);
  const signature = new Uint8Array(64);
  const lookup = { kind: 'signature', signature, selection: everything } as const;
  await expect(stopped.lookUp(['half 0'], lookup)).rejects.toMatchObject(cancelled);
  await expect(stopped.probe([], signature)).rejects.toMatchObject(cancelled);
});
