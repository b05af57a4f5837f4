import type { BlockHeader } from '@sluice/ledger/block';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import { expect, test } from 'vitest';
import { hash } from '../../chain/testing/chain-fixtures.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { makeHeaders } from '../testing/fake-source.ts';
import { HistoryRun } from './history-run.ts';

const headers = makeHeaders('a', [0, 1, 3, 4, 6]);
const [zero, one, three, four, first] = headers as [
  BlockHeader,
  BlockHeader,
  BlockHeader,
  BlockHeader,
  BlockHeader,
];

function blockOf(header: BlockHeader, length = 10): PreparedBlock {
  return { header, bytes: new Uint8Array(length), counts: newCounts() };
}

const numbers = (blocks: readonly PreparedBlock[]) => blocks.map(({ header }) => header.number);

test('default: blocks are added downwards and taken upwards, the lowest stays', () => {
  const run = new HistoryRun(first);
  expect([run.lowest, run.blockCount, run.byteLength]).toEqual([first, 0, 0]);
  for (const [i, header] of [four, three, one].entries()) {
    expect(run.add(blockOf(header, 10 + i))).toBe(undefined);
  }
  expect([run.lowest, run.blockCount, run.byteLength]).toEqual([one, 3, 33]);
  expect(numbers(run.take(false))).toEqual([3, 4]);
  expect([run.lowest, run.blockCount, run.byteLength]).toEqual([one, 1, 12]);
  expect(run.add(blockOf(zero))).toBe(undefined);
  expect(numbers(run.take(true))).toEqual([0, 1]);
  expect([run.lowest, run.blockCount, run.byteLength]).toEqual([zero, 0, 0]);
});

test('behavior: the lowest block can be removed and added again', () => {
  const run = new HistoryRun(first);
  run.add(blockOf(four));
  run.add(blockOf(three, 7));
  run.takeBack();
  expect([run.lowest, run.blockCount, run.byteLength]).toEqual([four, 1, 10]);
  expect(run.add(blockOf(three))).toBe(undefined);
  const empty = new HistoryRun(first);
  empty.takeBack();
  expect([empty.lowest, empty.byteLength]).toEqual([first, 0]);
  expect(empty.take(false)).toEqual([]);
  expect(empty.lowest).toBe(first);
});

test('behavior: below a segment that was taken, the lowest block can be removed as well', () => {
  const run = new HistoryRun(first);
  for (const header of [four, three, one, zero]) run.add(blockOf(header));
  expect(numbers(run.take(false))).toEqual([1, 3, 4]);
  run.takeBack();
  expect([run.lowest, run.blockCount]).toEqual([one, 0]);
});

const rows = { transactions: [], instructions: [], logs: [], balances: [], tokenBalances: [] };

/** Returns a block as an old node has it: without a height. */
function heightless(header: BlockHeader): PreparedBlock {
  const own = { ...header, height: null };
  return { ...blockOf(own), bytes: buildSegment([{ header: own, ...rows, rewards: [] }]) };
}

test('behavior: a block without a height gets it from its child, also in its bytes', () => {
  const run = new HistoryRun(first);
  expect(run.add(heightless(four))).toBe(undefined);
  expect(run.add(heightless(three))).toBe(undefined);
  const taken = run.take(true);
  expect(taken.map(({ header }) => header)).toEqual([three, four]);
  expect(taken.map(({ bytes }) => openSegment(bytes).headers.at(0))).toEqual([three, four]);
});

test('behavior: an omitted parent hash is added when the parent is known, also in the bytes', () => {
  const run = new HistoryRun(first);
  run.add(blockOf(four));
  const own = { ...three, parentHash: null };
  const bytes = buildSegment([{ header: own, ...rows, rewards: [] }]);
  expect(run.add({ ...blockOf(own), bytes })).toBe(undefined);
  expect(run.add(blockOf(one))).toBe(undefined);
  const [taken, ...rest] = run.take(false);
  expect([taken?.header, rest.length]).toEqual([three, 1]);
  expect(openSegment(taken?.bytes as Uint8Array).headers.toArray()).toEqual([three]);
});

test('behavior: without a height of the child, and at slot 0, the height stays unknown', () => {
  const run = new HistoryRun({ ...first, height: null });
  const block = heightless(four);
  expect(run.add(block)).toBe(undefined);
  expect(run.take(true)).toEqual([block]);
  const lowest = new HistoryRun(one);
  expect(lowest.add(heightless(zero))).toBe(undefined);
  expect(lowest.lowest.height).toBe(null);
});

test('error: a block that is not the parent is not added', () => {
  const run = new HistoryRun(first);
  expect(run.add(blockOf(three))).toMatchObject({ code: 'chain-not-linked' });
  expect(run.add(blockOf({ ...four, hash: hash('b4') }))).toMatchObject({
    code: 'chain-not-linked',
  });
  expect(run.add(blockOf({ ...four, height: 9 }))).toMatchObject({ code: 'chain-height-wrong' });
  expect([run.blockCount, run.byteLength]).toEqual([0, 0]);
  run.add(blockOf(four));
  expect(run.add(blockOf(one))).toMatchObject({ code: 'chain-not-linked' });
  expect([run.lowest, run.blockCount]).toEqual([four, 1]);
});
