import { CodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { expect, test } from 'vitest';
import { hash, makeHeader } from '../../chain/testing/chain-fixtures.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { ManualClock, settle } from '../../stream/testing/manual-clock.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { makeHeaders, makeSnapshot } from '../testing/fake-source.ts';
import { ChainFeeder, linkBlock, linkHeader } from './chain-feeder.ts';

const own = makeHeaders('a', [10, 11]);
const [, head] = own as [BlockHeader, BlockHeader];
const snapshot = makeSnapshot(own);
const blockOf = (header: BlockHeader) => ({ header }) as PreparedBlock;
const child = makeHeader('a', 13, head);

/** A dataset whose commits fail with these errors in turn. */
function start(...errors: (Error | undefined)[]) {
  const clock = new ManualClock();
  const commits: unknown[] = [];
  let reopenCount = 0;
  let reopenFault: Error | undefined;
  const dataset = {
    pendingSnapshot: () => snapshot,
    commit: async (changes: unknown) => {
      commits.push(changes);
      const error = errors.shift();
      if (error !== undefined) throw error;
      return snapshot;
    },
    reopen: async () => {
      reopenCount++;
      if (reopenFault !== undefined) throw reopenFault;
    },
  };
  const feeder = new ChainFeeder({ dataset: dataset as unknown as Dataset, clock });
  return {
    clock,
    commits,
    feeder,
    reopens: () => reopenCount,
    failReopen: (error: Error) => {
      reopenFault = error;
    },
  };
}

const { signal } = new AbortController();

test('default: new blocks and branches are committed, and the time is noted', async () => {
  const { feeder, commits, clock } = start();
  await clock.advance(5);
  expect([feeder.pending, feeder.lastGrownMs]).toEqual([snapshot, 0]);
  expect(await feeder.extend(blockOf(child), signal)).toEqual({ kind: 'committed', snapshot });
  expect(feeder.lastGrownMs).toBe(5);
  await feeder.replace(own[0] as BlockHeader, [blockOf(child)], signal);
  await feeder.commit([{ kind: 'finalize', block: head }], signal);
  expect(commits).toEqual([
    [{ kind: 'extend', blocks: [blockOf(child)] }],
    [{ kind: 'replace', ancestor: own[0], blocks: [blockOf(child)] }],
    [{ kind: 'finalize', block: head }],
  ]);
});

test('error: a change that a rule of the chain rejects is refused', async () => {
  const error = new CodedError('chain-ancestor-unknown', { slot: 12, hash: 'x' });
  const { feeder, clock } = start(error);
  await clock.advance(5);
  expect(await feeder.extend(blockOf(child), signal)).toEqual({ kind: 'refused', error });
  expect(feeder.lastGrownMs).toBe(0);
});

test('behavior: while the disk is full, the change is tried again each second', async () => {
  const full = new CodedError('disk-floor-reached', { freeBytes: 1, floorBytes: 2 });
  const { feeder, clock, commits, reopens } = start(full, full);
  const outcome = feeder.extend(blockOf(child), signal);
  await clock.advance(999);
  expect(commits).toHaveLength(1);
  await clock.advance(1_001);
  expect(await outcome).toMatchObject({ kind: 'committed' });
  expect([commits.length, reopens()]).toEqual([3, 0]);
});

test('behavior: after a failed write the journal is reopened, and the block is loaded again', async () => {
  const failed = new CodedError('dataset-write-failed');
  for (const fault of [undefined, new CodedError('dataset-write-failed')]) {
    const { feeder, clock, reopens, failReopen } = start(failed);
    if (fault !== undefined) failReopen(fault);
    const outcome = feeder.extend(blockOf(child), signal);
    await settle();
    expect(reopens()).toBe(0);
    await clock.advance(1_000);
    expect(await outcome).toEqual({ kind: 'refused', error: failed });
    expect(reopens()).toBe(1);
  }
  const { feeder, clock, failReopen } = start(failed);
  failReopen(new TypeError('a bug'));
  const outcome = expect(feeder.extend(blockOf(child), signal)).rejects.toThrow('a bug');
  await clock.advance(1_000);
  await outcome;
});

test('error: bugs, a closed dataset and a stop end the wait', async () => {
  const run = (error: Error, stop = signal) => start(error).feeder.extend(blockOf(child), stop);
  await expect(run(new TypeError('a bug'))).rejects.toThrow('a bug');
  await expect(run(new CodedError('dataset-closed'))).rejects.toMatchObject({
    code: 'dataset-closed',
  });
  const stop = new AbortController();
  stop.abort();
  const full = new CodedError('disk-floor-reached', { freeBytes: 1, floorBytes: 2 });
  await expect(run(full, stop.signal)).rejects.toBe(full);
});

test('behavior: a block is linked to the head, or the error says why not', () => {
  const { feeder } = start();
  const block = blockOf({ ...child, height: 2 });
  expect(feeder.linkToHead(block)).toBe(block);
  expect(feeder.linkToHead(blockOf(makeHeader('b', 13, own[0] as BlockHeader)))).toMatchObject({
    code: 'chain-not-linked',
  });
  expect(linkBlock(head, blockOf({ ...child, height: 7 }))).toMatchObject({
    code: 'chain-height-wrong',
  });
});

test('behavior: an unknown height follows from the parent', () => {
  expect(linkHeader(head, { ...child, height: null })).toEqual({ ...child, height: 2 });
  expect(linkHeader({ ...head, height: null }, { ...child, height: null })).toMatchObject({
    height: null,
  });
  expect(linkHeader(head, child)).toBe(child);
});

test('behavior: an omitted parent hash is added if slot and height identify the parent', () => {
  const omitted = { ...child, parentHash: null };
  expect(linkHeader(head, omitted)).toEqual({ ...child, parentHash: head.hash });
  const refused = [
    linkHeader(head, { ...omitted, height: null }),
    linkHeader(head, { ...omitted, parentSlot: own[0]?.number ?? head.number }),
    linkHeader(head, { ...omitted, height: 9 }),
    linkHeader({ ...head, height: null }, omitted),
    linkHeader({ ...head, height: null }, { ...omitted, height: 1 }),
    linkHeader(null, omitted),
    linkHeader(head, { ...child, parentHash: hash('b11') }),
  ];
  for (const error of refused) expect(error).toMatchObject({ code: 'chain-not-linked' });
});
