/** Tests how an ingester starts, stops and fails, with sources and a dataset in memory. */

import { CodedError } from '@sluice/base/errors';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import { type Refusal, refusal } from '@sluice/source/refusal';
import { SlotWatcher } from '@sluice/source/rpc/slot-watcher';
import { afterEach, expect, test, vi } from 'vitest';
import { settle } from '../stream/testing/manual-clock.ts';
import type { BackfillProgress } from './backfill/backfill-task.ts';
import { makeHeaders } from './testing/fake-source.ts';
import { FakeNode, prepareFake, startIngester } from './testing/start-ingester.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const slots = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);
const chain = makeHeaders('a', slots(0, 20));
const node = (name = 'node', { first = 0, last = 12, finalized = 8 } = {}) =>
  new FakeNode(name, chain.slice(first, last + 1), finalized);
const at = (slot: number) => ({ kind: 'slot', slot: toSlot(slot) }) as const;

test('default: the chain of a node is stored from its genesis, counted and finalized', async () => {
  const { clock, dataset, ingester, head, raised, end } = startIngester([node()]);
  expect(ingester.status).toEqual({
    sources: [
      {
        ...{ name: 'node', state: 'starting', fault: null, failures: 0, strikes: 0 },
        ...{ kind: 'rpc', slotsBehind: null, activity: null },
      },
    ],
    counters: {},
    stallMs: 0,
    behindSlots: null,
    backfill: null,
  });
  await clock.advance(2_000);
  const { start, anchor, finalized } = dataset.current;
  expect([start, anchor, head(), finalized?.number]).toEqual([0, null, 12, 8]);
  const { sources, counters, ...rest } = ingester.status;
  expect(sources).toMatchObject([{ name: 'node', state: 'live' }]);
  expect([counters['blocks'], rest]).toEqual([13, { stallMs: 0, behindSlots: 0, backfill: null }]);
  expect(raised()).toEqual([]);
  expect(dataset.description.genesisHash).toBe('genesis');
  await end();
});

test('error: source-start-missing names the first slot of the source, until another source has the start', async () => {
  const [pruned, whole] = [node('pruned', { first: 4 }), node('whole')];
  const slot = vi.spyOn(whole, 'slot').mockResolvedValue(refusal('pending', 'null'));
  const { clock, dataset, head, raised, end } = startIngester([pruned, whole], { start: at(2) });
  await clock.advance(3_000);
  expect(raised()).toEqual([
    'source-start-missing: pruned begins at slot 4: start with --from earliest or --from 4 (the same as from: in a configuration), or add a source that has earlier blocks',
  ]);
  expect(dataset.current.start).toBe(null);
  slot.mockRestore();
  await clock.advance(5_000);
  expect([dataset.current.start, head(), raised()]).toEqual([2, 12, []]);
  await end();
});

test('behavior: a new dataset from genesis takes its first blocks from the source that has them', async () => {
  const [pruned, whole] = [node('pruned', { first: 4 }), node('whole')];
  const { clock, dataset, ingester, head, raised, end } = startIngester([pruned, whole]);
  await clock.advance(10_000);
  expect([dataset.current.start, head(), raised()]).toEqual([0, 12, []]);
  expect(ingester.status.sources).toMatchObject([{ strikes: 0 }, { strikes: 0 }]);
  await end();
});

test('error: dataset-write-failed: if the commit that creates the chain fails, it is created later', async () => {
  const { clock, dataset, head, end } = startIngester([node()]);
  const failed = new CodedError('dataset-write-failed');
  const commit = vi.spyOn(dataset, 'commit').mockRejectedValue(failed);
  await clock.advance(5_000);
  expect(commit.mock.calls.length).toBeGreaterThan(1);
  expect(commit.mock.calls.flat(2)).toEqual(
    commit.mock.calls.map(() => ({ kind: 'create', anchor: null })),
  );
  commit.mockRestore();
  await clock.advance(5_000);
  expect([dataset.current.start, head()]).toEqual([0, 12]);
  await end();
});

test('error: source-start-missing names the slot that the ledger has reached, until it reaches the start', async () => {
  const source = node();
  const { clock, dataset, raised, end } = startIngester([source], { start: at(10) });
  await clock.advance(100);
  expect(raised()).toEqual([
    'source-start-missing: node has only reached slot 8: wait, or start with --from latest',
  ]);
  source.finalized = 10;
  await clock.advance(399);
  expect(dataset.current.start).toBe(null);
  await clock.advance(1);
  expect([dataset.current.start, dataset.current.anchor?.number, raised()]).toEqual([10, 9, []]);
  await end();
});

/** Returns headers that name another parent. */
async function wrongHeader(slot: Slot) {
  const header = chain[slot];
  if (header === undefined) return refusal('not-available', 'none');
  return { kind: 'ok', value: { ...header, parentHash: header.hash } } as const;
}

test('behavior: the start is the one that most sources confirm', async () => {
  const [liar, ...honest] = [node('liar'), node('first'), node('second')];
  vi.spyOn(liar as FakeNode, 'header').mockImplementation(wrongHeader);
  const sources = [liar as FakeNode, ...honest];
  const { clock, dataset, raised, end } = startIngester(sources, { start: { kind: 'latest' } });
  await clock.advance(2_000);
  expect(dataset.current.anchor).toEqual({ number: 7, hash: chain[7]?.hash });
  expect(raised()).not.toContain('source-start-missing');
  await end();
});

test('error: source-start-missing names the block that as many sources deny as confirm', async () => {
  const [liar, honest] = [node('liar'), node('honest')];
  const header = vi.spyOn(liar, 'header').mockImplementation(wrongHeader);
  const options = { start: { kind: 'latest' } } as const;
  const { clock, dataset, raised, end } = startIngester([honest, liar], options);
  await clock.advance(2_000);
  expect(dataset.current.start).toBe(null);
  expect(raised()).toEqual([
    'source-start-missing: the dataset would start with block 8 of liar, but not more sources confirm its hash and parent than deny them: check the sources, and remove the one that is wrong',
  ]);
  header.mockRestore();
  await clock.advance(2_000);
  expect([dataset.current.anchor?.hash, raised()]).toEqual([chain[7]?.hash, []]);
  await end();
});

test('behavior: a source that asked for a pause is not asked for the start meanwhile', async () => {
  const source = node();
  const pause: Refusal = { ...refusal('outage', 'HTTP 429'), retryAfterMs: 5_000 };
  const slot = vi.spyOn(source, 'slot').mockResolvedValue(pause);
  const { clock, dataset, raised, end } = startIngester([source], { start: { kind: 'latest' } });
  await clock.advance(4_900);
  expect([slot.mock.calls.length, dataset.current.start, raised()]).toEqual([1, null, []]);
  slot.mockRestore();
  await clock.advance(600);
  expect(dataset.current.start).toBe(8);
  await end();
});

test('behavior: a dataset that has a start keeps it', async () => {
  const { clock, dataset, head, end } = startIngester([node()], { start: { kind: 'latest' } });
  await dataset.commit([{ kind: 'create', anchor: null }]);
  await clock.advance(1_000);
  expect([dataset.current.start, head()]).toEqual([0, 12]);
  await end();
});

test('behavior: a source of another ledger is disabled and never followed, also if it answers late', async () => {
  const [good, wrong, late] = [node('good'), node('wrong'), node('late')];
  wrong.genesisHash = 'other';
  late.genesisHash = 'other';
  late.isDown = true;
  const { clock, dataset, ingester, head, raised, end } = startIngester([wrong, late, good]);
  dataset.description.genesisHash = 'genesis';
  await clock.advance(1_000);
  expect(raised()).toEqual(['dataset-genesis-differs: wrong serves another ledger']);
  late.isDown = false;
  await clock.advance(20_000);
  expect(raised()).toEqual(['dataset-genesis-differs: late serves another ledger']);
  expect(ingester.status.sources.map(({ state }) => state)).toEqual([
    'disabled',
    'disabled',
    'live',
  ]);
  for (const { counts } of [wrong, late]) {
    expect([counts['listSlots'], counts['block'], counts['slot']]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  }
  expect([head(), dataset.current.finalized?.number]).toEqual([12, 8]);
  await end();
});

test('behavior: a source whose ledger is not known yet is not used', async () => {
  const [unknown, good] = [node('unknown'), node('good')];
  vi.spyOn(unknown, 'identity').mockResolvedValue(refusal('pending', 'null'));
  unknown.finalized = 2;
  const { clock, dataset, head, end } = startIngester([unknown, good]);
  await clock.advance(2_000);
  expect([head(), dataset.current.finalized?.number]).toEqual([12, 8]);
  const { listSlots, slot, block, header } = unknown.counts;
  expect([listSlots, slot, block, header]).toEqual([undefined, undefined, undefined, undefined]);
  await end();
});

test('behavior: a ledger of one block is complete at slot 0', async () => {
  const { clock, ingester, end } = startIngester([node('node', { last: 0, finalized: 0 })]);
  await clock.advance(1_000);
  expect(ingester.status.behindSlots).toBe(0);
  await end();
});

test('behavior: a source that answers late is used from then on', async () => {
  const [first, late] = [node('first'), node('late')];
  late.isDown = true;
  const { clock, head, end } = startIngester([first, late]);
  await clock.advance(1_000);
  late.isDown = false;
  await clock.advance(15_000);
  expect(late.counts['block']).toBe(undefined);
  first.isDown = true;
  late.headers = chain.slice(0, 15);
  await clock.advance(2_000);
  expect(head()).toBe(14);
  await end();
});

test('behavior: a new dataset loads history down to a slot while it follows the head', async () => {
  const source = node('node', { last: 20, finalized: 15 });
  const done: BackfillProgress[] = [];
  const history: number[] = [];
  const started = startIngester(
    [source],
    { start: { kind: 'latest' }, backfillTo: toSlot(3), retention: { kind: 'all' } },
    {
      onBackfilled: (progress) => done.push(progress),
      prepareHistory: async (slot, bytes) => {
        history.push(slot);
        return prepareFake([source], bytes);
      },
    },
  );
  const { clock, dataset, ingester, prepared, end } = started;
  expect(ingester.status.backfill).toMatchObject({ to: 3, slot: null, blocks: 0 });
  await clock.advance(5_000);
  expect([dataset.current.start, dataset.current.segments.length]).toEqual([3, 1]);
  expect(done).toMatchObject([{ to: 3, slot: 3, blocks: 12 }]);
  expect(ingester.status.backfill).toBe(null);
  expect(history.toSorted((a, b) => a - b)).toEqual(slots(3, 14));
  expect(prepared).toEqual(slots(15, 20));
  await end();
});

test('behavior: without `prepareHistory`, blocks of history are prepared like those at the head', async () => {
  const source = node('node', { last: 20, finalized: 15 });
  const options = { start: { kind: 'latest' }, backfillTo: toSlot(12) } as const;
  const { clock, dataset, prepared, end } = startIngester([source], options);
  await clock.advance(5_000);
  expect(dataset.current.start).toBe(12);
  expect(prepared.toSorted((a, b) => a - b)).toEqual(slots(12, 20));
  await end();
});

test('limit: a backfill requires that all history is kept', () => {
  const options = { backfillTo: toSlot(3), retention: { kind: 'blocks', count: 5 } } as const;
  expect(() => startIngester([node()], options)).toThrow('all history is kept');
});

test('behavior: the retention policy is applied, and without one all history is kept', async () => {
  const retention = { kind: 'blocks', count: 70 } as const;
  const limited = startIngester([node()], { retention });
  await limited.clock.advance(100);
  await limited.end();
  expect(limited.dataset.trims[0]).toEqual(retention);
  const whole = startIngester([node()]);
  await whole.clock.advance(100);
  await whole.end();
  expect(whole.dataset.trims[0]).toEqual({ kind: 'all' });
});

test('behavior: a stop waits for the notifications and then closes all sources', async () => {
  const nodes = [node('one'), node('two')];
  const waiting: (() => void)[] = [];
  vi.spyOn(SlotWatcher.prototype, 'run').mockImplementation(
    () => new Promise((resolve) => waiting.push(resolve)),
  );
  const { clock, stop, running } = startIngester(nodes);
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  await clock.advance(100);
  stop.abort();
  await settle();
  expect([waiting.length, isOver, nodes.map(({ counts }) => counts['close'])]).toEqual([
    2,
    false,
    [undefined, undefined],
  ]);
  for (const end of waiting) end();
  await settle();
  expect([isOver, nodes.map(({ counts }) => counts['close'])]).toEqual([true, [1, 1]]);
});

test('behavior: a stop before the start ends it, and nothing is stored', async () => {
  const source = node();
  source.isDown = true;
  const { clock, dataset, end } = startIngester([source]);
  await clock.advance(1_000);
  await end();
  expect([dataset.current.start, source.counts['block']]).toEqual([null, undefined]);
});

test.each([
  ['a coded error during a stop is expected', new CodedError('dataset-closed'), true, 'ended'],
  ['a coded error without a stop is not', new CodedError('dataset-closed'), false, 'failed'],
  ['a bug is never expected', new TypeError('a bug'), true, 'failed'],
])('error: %s', async (_, error, isStopped, expected) => {
  const source = node();
  const { clock, dataset, stop, running } = startIngester([source]);
  await clock.advance(500);
  vi.spyOn(dataset, 'commit').mockImplementation(async () => {
    if (isStopped) stop.abort();
    throw error;
  });
  source.headers = chain.slice(0, 14);
  await clock.advance(500);
  stop.abort();
  const outcome = await running.then(
    () => 'ended',
    (failure: unknown) => (failure === error ? 'failed' : failure),
  );
  expect([outcome, source.counts['close']]).toEqual([expected, 1]);
});

test('behavior: a bug in one task stops all tasks and is thrown without waiting for a stop', async () => {
  const source = node();
  const { clock, dataset, running } = startIngester([source]);
  await clock.advance(2_000);
  dataset.commitError = new TypeError('a bug');
  source.headers = chain.slice(0, 16);
  await clock.advance(2_000);
  await expect(running).rejects.toThrow('a bug');
  expect(source.counts['close']).toBe(1);
});

test('behavior: a source that was down at first provides the start slot once it answers, if no other source has that slot', async () => {
  const [pruned, whole] = [node('pruned', { first: 4 }), node('whole')];
  whole.isDown = true;
  const { clock, dataset, head, end } = startIngester([pruned, whole], { start: at(2) });
  await clock.advance(3_000);
  expect(dataset.current.start).toBe(null);
  whole.isDown = false;
  await clock.advance(30_000);
  expect([dataset.current.start, head()]).toEqual([2, 12]);
  await end();
});
