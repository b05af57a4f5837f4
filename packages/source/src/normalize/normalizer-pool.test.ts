import type { Slot } from '@sluice/ledger/primitives';
import { afterEach, expect, test } from 'vitest';
import {
  call,
  normalize,
  program,
  ran,
  rawBlock,
  rawTransaction,
  slot,
  toBytes,
} from '../testing/raw-block.ts';
import type { NormalizedBlock } from './normalize-block.ts';
import { NormalizerPool, type NormalizerPoolOptions } from './normalizer-pool.ts';

let opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const pool of opened) await pool.close();
  opened = [];
});

function open<Value = NormalizedBlock>(
  options: Partial<NormalizerPoolOptions> = {},
): NormalizerPool<Value> {
  const pool = new NormalizerPool<Value>(options);
  opened.push(pool);
  return pool;
}

/** A worker that returns the slot, exits at slot 13, throws at 14 and never replies at 15. */
const unruly = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ slot, bytes }) => {
      if (slot === 13) process.exit(3);
      if (slot === 14) throw new RangeError('a bug');
      if (slot === 15) return;
      parentPort.postMessage({ kind: 'done', value: [slot, bytes.length] });
    });
  `)}`,
);

const bytes = (length = 1) => new Uint8Array(length);

test('default: a worker thread returns the same block as this thread', async () => {
  const raw = rawBlock([
    rawTransaction({
      instructions: [call(program.a)],
      meta: { fee: 2n ** 64n - 1n, logMessages: ran(program.a) },
    }),
    rawTransaction({ instructions: [call(program.vote)] }),
  ]);
  const pool = open();
  expect(await pool.normalize(slot, toBytes(raw))).toEqual(normalize(raw));
});

test('behavior: a long and then a short block in shared memory are read and not changed', async () => {
  const long = rawBlock(
    Array.from({ length: 20 }, () => rawTransaction({ instructions: [call(program.a)] })),
  );
  const short = rawBlock([rawTransaction({ instructions: [call(program.vote)] })]);
  const pool = open();
  for (const raw of [long, short, long]) {
    const plain = toBytes(raw);
    const shared = new Uint8Array(new SharedArrayBuffer(plain.length + 100), 0, plain.length);
    shared.set(plain);
    expect(await pool.normalize(slot, shared)).toEqual(normalize(raw));
    expect(Buffer.compare(shared, plain)).toBe(0);
  }
});

test('behavior: options reach the worker', async () => {
  const raw = rawBlock([rawTransaction({ instructions: [call(program.vote)] })], {
    rewards: undefined,
  });
  const pool = open({ normalize: { votes: 'keep', allowMissing: ['rewards'] } });
  const { block, counts } = await pool.normalize(slot, toBytes(raw));
  expect([block.transactions.length, counts.missingRewards]).toEqual([1, 1]);
});

test('error: a refused block rejects its own promise with code and detail', async () => {
  const pool = open();
  const bad = pool.normalize(slot, toBytes(rawBlock([], { blockhash: 'x' })));
  const good = pool.normalize(slot, toBytes(rawBlock([])));
  await expect(bad).rejects.toMatchObject({
    code: 'block-field-invalid',
    detail: { slot: 1000, field: 'blockhash' },
  });
  expect((await good).block.header.number).toBe(1000);
});

test('behavior: many blocks over several workers each get their own result', async () => {
  const pool = open({ workerCount: 3 });
  const slots = Array.from({ length: 40 }, (_, i) => (1000 + i) as Slot);
  const answers = await Promise.all(
    slots.map((number) => pool.normalize(number, toBytes(rawBlock([])))),
  );
  expect(answers.map(({ block }) => block.header.number)).toEqual(slots);
});

test('behavior: F-43: if a worker dies, only its current block fails, and the worker is replaced', async () => {
  const pool = open<number[]>({ workerUrl: unruly });
  const answers = await Promise.allSettled(
    [1, 13, 2, 14, 3].map((number) => pool.normalize(number as Slot, bytes())),
  );
  expect(answers.map((answer) => answer.status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(answers[1]).toMatchObject({ reason: { code: 'block-worker-died', detail: { slot: 13 } } });
  expect(answers[3]).toMatchObject({ reason: { code: 'block-worker-died', detail: { slot: 14 } } });
  expect(await pool.normalize(4 as Slot, bytes())).toEqual([4, 1]);
});

test('limit: blocks beyond the limit of waiting blocks or bytes are refused, earlier ones are not', async () => {
  const pool = open<number[]>({ workerUrl: unruly, waitingCountMax: 2, waitingBytesMax: 100 });
  const first = pool.normalize(1 as Slot, bytes(80));
  const waiting = [2, 3].map((number) => pool.normalize(number as Slot, bytes(40)));
  await expect(pool.normalize(4 as Slot, bytes())).rejects.toMatchObject({
    code: 'block-pool-full',
    detail: { slot: 4, waiting: 2 },
  });
  expect(await Promise.all([first, ...waiting])).toEqual([
    [1, 80],
    [2, 40],
    [3, 40],
  ]);
  const again = [5, 6].map((number) => pool.normalize(number as Slot, bytes(60)));
  await expect(pool.normalize(7 as Slot, bytes(50))).rejects.toMatchObject({
    code: 'block-pool-full',
  });
  expect(await Promise.all(again)).toHaveLength(2);
});

test('behavior: a block larger than the limit of waiting bytes is still accepted', async () => {
  const pool = open<number[]>({ workerUrl: unruly, waitingBytesMax: 10 });
  expect(await pool.normalize(1 as Slot, bytes(50))).toEqual([1, 50]);
});

test('behavior: closing rejects unfinished blocks, ends the threads and refuses new blocks', async () => {
  const pool = open<number[]>({ workerUrl: unruly });
  const running = pool.normalize(15 as Slot, bytes());
  const waiting = pool.normalize(1 as Slot, bytes());
  const settled = Promise.allSettled([running, waiting]);
  await pool.close();
  for (const outcome of await settled) {
    expect(outcome).toMatchObject({ reason: { code: 'block-pool-closed' } });
  }
  await expect(pool.normalize(2 as Slot, bytes())).rejects.toMatchObject({
    code: 'block-pool-closed',
  });
});

test('behavior: a view of a larger buffer does not transfer that buffer', async () => {
  const pool = open();
  const json = toBytes(rawBlock([]));
  const shared = new Uint8Array(json.length + 20);
  shared.set(json, 10);
  await pool.normalize(slot, shared.subarray(10, 10 + json.length));
  expect(shared.length).toBe(json.length + 20);
});
