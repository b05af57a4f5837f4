import { isCodedError } from '@sluice/base/errors';
import { afterEach, describe, expect, test } from 'vitest';
import { makeHash } from './testing/make-block.ts';
import { settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';
import { Reading, StreamFixture } from './testing/stream-fixture.ts';

let fixture: StreamFixture;
afterEach(() => fixture.close());

/** Slots 100 to 110 without 104 and 105, above the anchor 98; 99 is skipped. */
function smallChain(): MemoryDataset {
  const dataset = new MemoryDataset({ anchor: 98 });
  dataset.extend([100, 101, 102, 103, 106, 107, 108, 109, 110]);
  return dataset;
}

const wrong = makeHash('wrong', 1);

async function conflict(body: Record<string, unknown>, finalizedOnly = false) {
  const opened = await fixture.open(body, { finalizedOnly });
  return opened.kind === 'conflict'
    ? opened.previousBlocks.map(({ number }) => number)
    : opened.kind;
}

test('default: a bounded range returns its matching blocks and the last block', async () => {
  fixture = new StreamFixture(smallChain());
  const reading = await fixture.follow({ fromBlock: 99, toBlock: 109 });
  expect([reading.slots, reading.end]).toEqual([[102, 108, -109], 'complete']);
});

test('behavior: a range that ends in skipped slots ends with the block before them (I-36, I-38)', async () => {
  fixture = new StreamFixture(smallChain());
  const reading = await fixture.follow({ fromBlock: 100, toBlock: 105 });
  expect([reading.slots, reading.end]).toEqual([[102, -103], 'complete']);
});

test('behavior: a range of skipped slots gives an empty answer (I-38)', async () => {
  fixture = new StreamFixture(smallChain());
  expect((await fixture.open({ fromBlock: 104, toBlock: 105 })).kind).toBe('empty');
});

test('behavior: includeAllBlocks only adds header-only lines (I-51)', async () => {
  fixture = new StreamFixture(smallChain());
  const reading = await fixture.follow({ fromBlock: 100, toBlock: 103, includeAllBlocks: true });
  expect(reading.slots).toEqual([-100, -101, 102, -103]);
});

test('behavior: sealed and hot blocks give the same lines (I-35)', async () => {
  fixture = new StreamFixture(smallChain());
  const before = await fixture.follow({ fromBlock: 99, toBlock: 110 });
  fixture.dataset.finalize(107);
  fixture.dataset.seal(106);
  const after = await fixture.follow({ fromBlock: 99, toBlock: 110 });
  expect(after.text).toBe(before.text);
  expect(after.slots).toEqual([102, 108, -110]);
});

test('error: a request below the start gets the lowest slot', async () => {
  fixture = new StreamFixture(smallChain());
  expect(await fixture.open({ fromBlock: 98 })).toEqual({ kind: 'below-start', startBlock: 99 });
});

test('error: a dataset whose start is unknown is reported as starting', async () => {
  fixture = new StreamFixture(new MemoryDataset({ isStarted: false }));
  expect((await fixture.open({ fromBlock: 0 })).kind).toBe('starting');
});

test('behavior: a request above the head waits five seconds, then gets the heads (I-39)', async () => {
  fixture = new StreamFixture(smallChain());
  const opened = fixture.open({ fromBlock: 111 });
  let isDone = false;
  void opened.then(() => (isDone = true));
  await fixture.clock.advance(4_900);
  expect(isDone).toBe(false);
  await fixture.clock.advance(200);
  expect(await opened).toMatchObject({ kind: 'above-data', heads: { head: { number: 110 } } });
});

test('behavior: a request that waits is answered as soon as the block arrives (L-04)', async () => {
  fixture = new StreamFixture(smallChain());
  const opened = fixture.open({ fromBlock: 111, toBlock: 111 });
  await fixture.clock.advance(1_000);
  fixture.dataset.extend([111]);
  await settle();
  expect(new Reading(await opened).kind).toBe('lines');
});

test('behavior: a bounded range above the head ends empty when a later block arrives (I-47)', async () => {
  fixture = new StreamFixture(smallChain());
  const opened = fixture.open({ fromBlock: 111, toBlock: 112 });
  await fixture.clock.advance(100);
  fixture.dataset.extend([113]);
  await settle();
  expect((await opened).kind).toBe('empty');
});

test('behavior: a slot beyond 2^53 is above the data (F-67)', async () => {
  fixture = new StreamFixture(smallChain());
  const opened = fixture.open({ fromBlock: 2 ** 60 });
  await fixture.clock.advance(5_100);
  expect((await opened).kind).toBe('above-data');
});

test('behavior: when the signal aborts, a waiting client is asked to retry', async () => {
  fixture = new StreamFixture(smallChain());
  const controller = new AbortController();
  const opened = fixture.open({ fromBlock: 111 }, { signal: controller.signal });
  await fixture.clock.advance(100);
  controller.abort();
  expect((await opened).kind).toBe('closing');
});

test('limit: too many waiters are refused', async () => {
  fixture = new StreamFixture(smallChain(), { waiterCountMax: 1 });
  const first = fixture.open({ fromBlock: 111 });
  await settle();
  const refusal = await fixture.open({ fromBlock: 111 }).catch((error: unknown) => error);
  expect(isCodedError(refusal, 'waiters-full')).toBe(true);
  await fixture.clock.advance(5_100);
  await first;
});

test('behavior: the correct parent is accepted, also across skipped slots (I-40)', async () => {
  fixture = new StreamFixture(smallChain());
  for (const [fromBlock, parent] of [
    [101, 100],
    [104, 103],
    [106, 103],
    [99, 98],
  ] as const) {
    const parentBlockHash = makeHash('a', parent);
    expect((await fixture.open({ fromBlock, parentBlockHash, toBlock: 110 })).kind).toBe('lines');
  }
});

test('behavior: a wrong parent returns the chain below, its last block just below fromBlock (I-41)', async () => {
  fixture = new StreamFixture(smallChain());
  const parentBlockHash = wrong;
  expect(await conflict({ fromBlock: 102, parentBlockHash })).toEqual([98, 100, 101]);
  expect(await conflict({ fromBlock: 105, parentBlockHash })).toEqual([98, 100, 101, 102, 103]);
  expect(await conflict({ fromBlock: 99, parentBlockHash })).toEqual([98]);
});

test('limit: a conflict lists at most 100 blocks, and repeated conflicts descend to the anchor (I-41)', async () => {
  const dataset = new MemoryDataset({ anchor: 9 });
  dataset.extend(Array.from({ length: 250 }, (_, i) => 10 + i));
  fixture = new StreamFixture(dataset);
  const lists: number[][] = [];
  for (let fromBlock = 260; fromBlock >= 10; ) {
    const list = await conflict({ fromBlock, parentBlockHash: wrong });
    if (typeof list === 'string') break;
    lists.push(list);
    fromBlock = list[0] as number;
  }
  expect(lists.map((list) => [list[0], list.at(-1), list.length])).toEqual([
    [160, 259, 100],
    [60, 159, 100],
    [9, 59, 51],
  ]);
});

test("behavior: at head + 1 another hash than the head's is a conflict immediately (I-40)", async () => {
  fixture = new StreamFixture(smallChain());
  const list = await conflict({ fromBlock: 111, parentBlockHash: wrong });
  expect(list.at(-1)).toBe(110);
});

test('behavior: a process that lags behind others catches up before it reports a conflict', async () => {
  // The other process has replaced 110 already. This one learns of it during the request.
  const ahead = smallChain();
  ahead.fork(109, [110, 111], 'b');
  const behind = smallChain();
  const confirm = async () => {
    behind.fork(109, [110, 111], 'b');
    return true;
  };
  fixture = new StreamFixture(Object.assign(behind, { confirm }));
  const parentBlockHash = ahead.refAt(110).hash;
  const opened = await fixture.open({ fromBlock: 111, toBlock: 111, parentBlockHash });
  expect(opened.kind).toBe('lines');
  expect(await conflict({ fromBlock: 111, parentBlockHash: wrong })).toContain(110);
});

test('behavior: a process that cannot determine whether it lags reports no conflict', async () => {
  const dataset = Object.assign(smallChain(), { confirm: async () => false });
  fixture = new StreamFixture(dataset);
  const opened = fixture.open({ fromBlock: 111, parentBlockHash: wrong });
  await fixture.clock.advance(5_100);
  expect((await opened).kind).toBe('above-data');
  expect(dataset.leaseCount).toBe(0);
});

test('behavior: above head + 1 an unknown hash is not a conflict (I-40)', async () => {
  fixture = new StreamFixture(smallChain());
  const opened = fixture.open({ fromBlock: 112, parentBlockHash: wrong });
  await fixture.clock.advance(5_100);
  expect((await opened).kind).toBe('above-data');
});

test('behavior: a waiting request is checked again when the head moves (I-40)', async () => {
  fixture = new StreamFixture(smallChain());
  const opened = fixture.open({ fromBlock: 112, parentBlockHash: wrong });
  await fixture.clock.advance(100);
  fixture.dataset.extend([111]);
  await settle();
  expect((await opened).kind).toBe('conflict');
});

test('behavior: the hash of a replaced block is a conflict even far above the head (I-43)', async () => {
  fixture = new StreamFixture(smallChain());
  fixture.dataset.fork(106, [107], 'b');
  expect(await conflict({ fromBlock: 111, parentBlockHash: makeHash('a', 110) })).toContain(107);
});

test('behavior: a hash that is adopted again is no conflict (I-43)', async () => {
  fixture = new StreamFixture(smallChain());
  fixture.dataset.fork(106, [107], 'b');
  fixture.dataset.fork(106, [107, 108, 109, 110], 'a');
  const parentBlockHash = makeHash('a', 110);
  const opened = fixture.open({ fromBlock: 111, parentBlockHash });
  await fixture.clock.advance(5_100);
  expect((await opened).kind).toBe('above-data');
});

test('behavior: slot 0 has no parent, so the hash is not checked (I-40)', async () => {
  const dataset = new MemoryDataset();
  dataset.extend([0, 1, 2]);
  fixture = new StreamFixture(dataset);
  const opened = await fixture.open({ fromBlock: 0, toBlock: 2, parentBlockHash: wrong });
  expect(opened.kind).toBe('lines');
});

test('behavior: the finalized stream ends at the finalized head and checks hashes only up to it (I-31, I-40)', async () => {
  fixture = new StreamFixture(smallChain());
  fixture.dataset.finalize(106);
  const reading = await fixture.follow({ fromBlock: 100 }, { finalizedOnly: true });
  expect(reading.slots).toEqual([102]);
  await fixture.clock.advance(5_100);
  expect(reading.slots).toEqual([102, -106]);
  expect(await conflict({ fromBlock: 107, parentBlockHash: wrong }, true)).toEqual([
    98, 100, 101, 102, 103, 106,
  ]);
  const above = fixture.open({ fromBlock: 109, parentBlockHash: wrong }, { finalizedOnly: true });
  await fixture.clock.advance(5_100);
  expect((await above).kind).toBe('above-data');
});

test('behavior: every response releases its snapshot', async () => {
  fixture = new StreamFixture(smallChain());
  await fixture.follow({ fromBlock: 100, toBlock: 110 });
  await conflict({ fromBlock: 102, parentBlockHash: wrong });
  await fixture.open({ fromBlock: 3 });
  expect(fixture.dataset.leaseCount).toBe(0);
});

test('behavior: a response of a dataset without a source ends with the last block', async () => {
  const dataset = new MemoryDataset({ anchor: 98, realTime: false });
  dataset.extend([100, 101, 102, 103]);
  fixture = new StreamFixture(dataset);
  for (const body of [{ fromBlock: 99 }, { fromBlock: 99, toBlock: 500 }]) {
    const reading = await fixture.follow(body);
    expect([reading.slots, reading.end]).toEqual([[102, -103], 'complete']);
  }
});

test('behavior: a request above the data of a dataset without a source does not wait', async () => {
  const dataset = new MemoryDataset({ anchor: 98, realTime: false });
  dataset.extend([100]);
  fixture = new StreamFixture(dataset);
  expect(await fixture.open({ fromBlock: 101 })).toMatchObject({
    kind: 'above-data',
    heads: { head: { number: 100 } },
  });
  expect(await conflict({ fromBlock: 101, parentBlockHash: wrong })).toEqual([98, 100]);
});

describe('finalized streams of the dialect solana', () => {
  function finalizedTo(slot: number): MemoryDataset {
    const dataset = new MemoryDataset();
    dataset.extend([0, 1, 2, 3, 4, 5]);
    dataset.finalize(slot);
    return dataset;
  }
  const body = { fromBlock: 0, type: 'solana', includeAllBlocks: true, fields: {} };

  test('behavior: they end at the finalized head, which is also the head they report', async () => {
    fixture = new StreamFixture(finalizedTo(3));
    const reading = await fixture.follow(body, { finalizedOnly: true });
    expect(reading.text.split('\n').slice(0, -1)).toHaveLength(4);
    expect(reading.end).toBe('complete');
    expect(reading.opened).toMatchObject({
      heads: { head: { number: 3 }, finalized: { number: 3 } },
    });
    const short = await fixture.follow({ ...body, toBlock: 1 }, { finalizedOnly: true });
    expect([short.text.split('\n').length - 1, short.end]).toEqual([2, 'complete']);
  });

  test('behavior: other streams report the head and follow it', async () => {
    fixture = new StreamFixture(finalizedTo(3));
    const solana = await fixture.follow(body);
    const ledger = await fixture.follow({ ...body, type: 'ledger' }, { finalizedOnly: true });
    for (const { opened, end } of [solana, ledger]) {
      expect(end).toBeUndefined();
      expect(opened).toMatchObject({ heads: { head: { number: 5 }, finalized: { number: 3 } } });
    }
    expect(solana.text.split('\n')).toHaveLength(7);
    expect(ledger.text.split('\n')).toHaveLength(5);
  });

  test('behavior: a request whose signal has aborted gets no lines', async () => {
    fixture = new StreamFixture(finalizedTo(3));
    const stop = new AbortController();
    stop.abort();
    expect(await fixture.open({ fromBlock: 0 }, { signal: stop.signal })).toEqual({
      kind: 'closing',
    });
    expect(fixture.dataset.leaseCount).toBe(0);
  });
});
