import { expect, test } from 'vitest';
import { layOutBranches } from './lay-out-branches.ts';
import {
  appendBlocks,
  emptyChain,
  type LiveBlock,
  type LiveChain,
  rollBack,
} from './live-chain.ts';

function block(number: number, parentSlot: number, branch = 'a'): LiveBlock {
  return {
    number,
    hash: `${branch}${number}`,
    parentSlot,
    parentHash: `a${parentSlot}`,
    timestamp: null,
    transactionCount: 1,
    isOrphaned: false,
  };
}

function fork(): LiveChain {
  const before = appendBlocks(emptyChain, [block(1, 0), block(2, 1), block(3, 2), block(4, 3)], 1);
  const rolled = rollBack(before, 2);
  const other = { ...block(5, 2, 'b'), parentHash: 'a2' };
  return appendBlocks(rolled, [other], 2);
}

test('default: the newest block is first, and finality never decreases', () => {
  const chain = appendBlocks(appendBlocks(emptyChain, [block(1, 0)], 1), [block(2, 1)], 0);
  expect(chain.blocks.map(({ number }) => number)).toEqual([2, 1]);
  expect(chain.finalized).toBe(1);
  expect(chain.addedCount).toBe(1);
});

test('behavior: a rollback marks the blocks above as orphaned and keeps them', () => {
  const chain = fork();
  expect(chain.forkCount).toBe(1);
  expect(
    chain.blocks.map(({ hash, isOrphaned }) => `${hash}${isOrphaned ? ' orphaned' : ''}`),
  ).toEqual(['b5', 'a4 orphaned', 'a3 orphaned', 'a2', 'a1']);
});

test('behavior: orphaned blocks are in their own lane, connected to their parents', () => {
  const { placed, laneCount } = layOutBranches(fork().blocks);
  expect(laneCount).toBe(2);
  expect(placed.map(({ lane }) => lane)).toEqual([0, 1, 1, 0, 0]);
  expect(placed[0]?.parent).toEqual({ row: 3, lane: 0 });
  expect(placed[2]?.parent).toEqual({ row: 3, lane: 0 });
  expect(placed[4]?.parent).toBe(undefined);
});

test('behavior: a block that returns to the chain after two forks is no longer orphaned', () => {
  const back = appendBlocks(rollBack(fork(), 2), [block(3, 2)], null);
  expect(back.blocks.find(({ hash }) => hash === 'a3')?.isOrphaned).toBe(false);
  expect(back.blocks.filter(({ hash }) => hash === 'a3')).toHaveLength(1);
});

test('limit: the page keeps 500 blocks', () => {
  const blocks = Array.from({ length: 600 }, (_, i) => block(i + 1, i));
  expect(appendBlocks(emptyChain, blocks, null).blocks).toHaveLength(500);
});
