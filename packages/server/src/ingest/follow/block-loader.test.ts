import { CodedError } from '@sluice/base/errors';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import type { Commitment } from '@sluice/source/source';
import { expect, test } from 'vitest';
import { ManualClock, settle } from '../../stream/testing/manual-clock.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { makeFakeSource, ok, refuse } from '../testing/fake-source.ts';
import { BlockLoader, type LoadedBlock, type PrepareBlock } from './block-loader.ts';

const clock = new ManualClock();
const { signal } = new AbortController();
const prepared = (slot: number) => ({ header: { number: slot } }) as PreparedBlock;
const prepareAny: PrepareBlock = async (slot) => prepared(slot);
const bytes = (length = 10) => new Uint8Array(length);

async function collect(blocks: AsyncIterable<LoadedBlock>): Promise<LoadedBlock[]> {
  const all: LoadedBlock[] = [];
  for await (const one of blocks) all.push(one);
  return all;
}

test.each([
  ['confirmed', 10_000],
  ['finalized', 30_000],
] as [Commitment, number][])('default: a %s block has %i ms', async (commitment, timeoutMs) => {
  const requested: unknown[] = [];
  const given: Uint8Array[] = [];
  const answer = bytes();
  const source = makeFakeSource({
    clock,
    remote: {
      block: async (slot, level, options) => {
        requested.push(slot, level, options);
        return ok(answer);
      },
      giveBack: (memory) => void given.push(memory),
    },
  });
  const formats: string[] = [];
  const loader = new BlockLoader(async (slot, read, format) => {
    // The memory is not reused before the block is prepared.
    expect([read, given]).toEqual([answer, []]);
    formats.push(format);
    return prepared(slot);
  });
  expect(await loader.load(source, toSlot(5), commitment, signal)).toEqual({
    kind: 'loaded',
    prepared: prepared(5),
  });
  expect(requested).toEqual([5, commitment, { timeoutMs, signal }]);
  expect([given, formats]).toEqual([[answer], ['node']]);
});

test('error: a refused and a damaged block keep their slot; other errors are bugs', async () => {
  const error = new CodedError('block-not-json', { slot: 5 });
  const source = makeFakeSource({
    clock,
    remote: { block: (slot) => (slot === 1 ? refuse('pruned') : Promise.resolve(ok(bytes()))) },
  });
  const loader = new BlockLoader(async (slot) => {
    throw slot === 2 ? error : new TypeError('a bug');
  });
  const load = (slot: number) => loader.load(source, toSlot(slot), 'confirmed', signal);
  expect(await load(1)).toMatchObject({ kind: 'refused', slot: 1, refusal: { reason: 'pruned' } });
  expect(await load(2)).toEqual({ kind: 'damaged', slot: 2, error });
  await expect(load(3)).rejects.toThrow('a bug');
});

/** Returns how many blocks are loaded at the same time. */
async function countInProgress(loader: BlockLoader, block = bytes()): Promise<number> {
  let running = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const source = makeFakeSource({
    clock,
    remote: {
      block: async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => waiting.push(resolve));
        running--;
        return ok(block);
      },
    },
  });
  const slots = Array.from({ length: 40 }, (_, i) => toSlot(i));
  const all = collect(loader.loadAll(source, slots, 'finalized', signal));
  for (let isOver = false; !isOver; ) {
    await settle();
    for (const resume of waiting.splice(0)) resume();
    isOver = await Promise.race([all.then(() => true), settle().then(() => false)]);
  }
  const loaded = await all;
  expect(loaded.map((one) => (one as { prepared: PreparedBlock }).prepared.header.number)).toEqual(
    slots,
  );
  return most;
}

test('limit: a number of blocks are loaded at the same time, and fewer large ones', async () => {
  expect(await countInProgress(new BlockLoader(prepareAny))).toBe(16);
  expect(await countInProgress(new BlockLoader(prepareAny, 4))).toBe(4);
  const loader = new BlockLoader(prepareAny);
  const large = bytes(24 * 1024 * 1024);
  await countInProgress(loader, large);
  // The average size is nearly that of these blocks now, and all together have 96 MiB.
  expect(await countInProgress(loader, large)).toBe(4);
});

test('behavior: streamed blocks are prepared in order, and one without a slot is damaged', async () => {
  const loader = new BlockLoader(async (slot, _bytes, format) => {
    expect(format).toBe('line');
    return prepared(slot);
  });
  const stream = (async function* () {
    for (const slot of [3, undefined, 5]) yield { slot: slot as Slot | undefined, bytes: bytes() };
  })();
  expect(await collect(loader.loadStream(stream, 'line'))).toMatchObject([
    { kind: 'loaded', prepared: prepared(3) },
    {
      kind: 'damaged',
      slot: undefined,
      error: { code: 'block-field-missing', detail: { field: 'header.number' } },
    },
    { kind: 'loaded', prepared: prepared(5) },
  ]);
});
