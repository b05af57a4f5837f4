/**
 * Checks the laws of the simulated ledger over thousands of blocks of every profile, and across the forks of the chain and of faults.
 * `LAW_BLOCKS` requests more blocks and seeds, with the transaction counts of the profiles (`npm run test:laws`).
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../packages/server/src/base/clock.ts';
import { SimulatedChain } from '../../packages/server/src/simulator/chain/chain.ts';
import type { ChainBlock } from '../../packages/server/src/simulator/chain/chain-block.ts';
import { SimulatedTime } from '../../packages/server/src/simulator/chain/simulated-time.ts';
import {
  type ContentInput,
  parseContentOptions,
} from '../../packages/server/src/simulator/content/content-options.ts';
import { BlockGenerator } from '../../packages/server/src/simulator/content/generate-block.ts';
import { expectedBlock } from '../../packages/server/src/simulator/content/testing/expected-block.ts';
import { type FaultRequest, Faults } from '../../packages/server/src/simulator/faults/faults.ts';
import { type NodeState, NodeView } from '../../packages/server/src/simulator/node/node-view.ts';
import { LawChecker } from './check-laws.ts';

const longCount = Number(process.env['LAW_BLOCKS'] ?? 0);
const isLong = longCount > 0;
const seeds = isLong ? [3, 11, 12, 13] : [3];
const small: ContentInput = { transactionsPerBlock: 4, votes: 1, slotsPerEpoch: 700 };
const medium: ContentInput = { transactionsPerBlock: 100, votes: 30, slotsPerEpoch: 100 };

function generatorOf(seed: number, content: ContentInput): BlockGenerator {
  return new BlockGenerator(parseContentOptions({ seed, ...content }));
}

/** Applies the confirmed blocks of a node, and rolls back when the node changes to another branch. */
class Follower {
  readonly checker = new LawChecker();
  readonly applied: ChainBlock[] = [];
  rolledBackCount = 0;
  readonly #generator: BlockGenerator;
  readonly #startSlot: number;

  constructor(generator: BlockGenerator, startSlot: number) {
    this.#generator = generator;
    this.#startSlot = startSlot;
  }

  see({ branch, confirmedSlot }: Pick<NodeState, 'branch' | 'confirmedSlot'>): void {
    const news: ChainBlock[] = [];
    let block = branch.blockAt(confirmedSlot);
    let sharedCount = 0;
    while (block !== undefined && block.slot >= this.#startSlot) {
      const { blockhash } = block;
      sharedCount = this.applied.findLastIndex((one) => one.blockhash === blockhash) + 1;
      if (sharedCount > 0) break;
      news.push(block);
      block = block.parent();
    }
    this.rolledBackCount += this.applied.splice(sharedCount).length;
    this.checker.rollBackTo(this.applied.at(-1)?.slot ?? this.#startSlot - 1);
    for (const one of news.reverse()) {
      this.checker.apply(expectedBlock(this.#generator.generate(one), { votes: 'keep' }));
      this.applied.push(one);
    }
    expect(this.checker.broken).toEqual([]);
  }
}

/** Checks the laws over this many blocks of the final chain: more than a window, or the blocks around the end of the first window. */
function checkChain(seed: number, content: ContentInput, blockCount: number) {
  const chain = new SimulatedChain({ seed, skipRate: 0.02 });
  const generator = generatorOf(seed, content);
  const checker = new LawChecker();
  const { windowSlots } = generator;
  let slot = blockCount > windowSlots ? 0 : windowSlots - (blockCount >> 1);
  for (let count = 0; count < blockCount; count++) {
    slot = chain.nextBlock(slot);
    const block = chain.blockAt(slot) as ChainBlock;
    checker.apply(expectedBlock(generator.generate(block), { votes: 'keep' }));
    expect(checker.broken).toEqual([]);
    slot++;
  }
  expect(slot).toBeGreaterThan(windowSlots);
  expect(checker.tokens.listDifferences()).toEqual([]);
  return checker;
}

describe('laws of the simulated ledger', () => {
  test.each(seeds)(
    'property: lamports, tokens, supplies, events and failures add up, also across windows (seed %d)',
    (seed) => {
      const blockCount = isLong ? Math.ceil(longCount / seeds.length) : 2300;
      const checker = checkChain(seed, isLong ? {} : small, blockCount);
      // The laws are only meaningful if enough has happened.
      expect(checker.transactionCount).toBeGreaterThan(blockCount * 3);
      expect(checker.swapCount).toBeGreaterThan(blockCount / 2);
      expect(checker.tradeCount).toBeGreaterThan(blockCount / 20);
      expect(checker.checkedTransferCount).toBeGreaterThan(blockCount / 20);
      expect(checker.failedCount).toBeGreaterThan(blockCount / 3);
    },
  );

  test.each(['2025', 'busy'] as const)('property: the same holds for the profile %s', (profile) => {
    const blockCount = isLong ? Math.ceil(longCount / 100) : 40;
    const checker = checkChain(6, { profile, ...(isLong ? {} : medium) }, blockCount);
    expect(checker.swapCount).toBeGreaterThan(blockCount * 5);
    expect(checker.failedCount).toBeGreaterThan(blockCount * 5);
  });

  test('property: the laws hold across forks, and the final chain is the same as without forks', () => {
    const options = { seed: 4, startSlot: 1900, forkRate: 0.3, forkDepthMax: 6, skipRate: 0.05 };
    const chain = new SimulatedChain(options);
    const generator = generatorOf(4, small);
    const follower = new Follower(generator, options.startSlot);
    const { slotMs } = chain.options;
    const endMs = (options.startSlot + (isLong ? longCount / 10 : 400)) * slotMs;
    for (let ms = options.startSlot * slotMs; ms < endMs; ms = chain.nextChangeMs(ms)) {
      follower.see(chain.stateAt(ms));
    }
    expect(follower.checker.tokens.listDifferences()).toEqual([]);
    expect(follower.rolledBackCount).toBeGreaterThan(50);
    // A ledger that is started again at the end has the same block.
    const last = follower.applied.filter((block) => block.branch === 0).at(-1) as ChainBlock;
    const again = expectedBlock(generatorOf(4, small).generate(last), { votes: 'keep' });
    expect(expectedBlock(generator.generate(last), { votes: 'keep' })).toEqual(again);
  });

  test.each<[FaultRequest, number]>([
    [{ kind: 'fork', depth: 5, forSlots: 6 }, 20],
    [{ kind: 'fork-lower', depth: 6, lowerBy: 3, forSlots: 6 }, 20],
    [{ kind: 'fork-storm', depth: 8 }, 100],
    [{ kind: 'fork-below-finality', depth: 4 }, 30],
  ])('property: the laws hold across the fault %j', (fault, rolledBackMin) => {
    // The blocks cross the end of a window, where every branch restores the first state.
    const chain = new SimulatedChain({ seed: 5, startSlot: 1990, forkRate: 0, skipRate: 0.05 });
    const { slotMs, startSlot } = chain.options;
    const startMs = startSlot * slotMs;
    const time = new SimulatedTime({ startMs, speed: 1, paused: true }, { clock: systemClock });
    const faults = new Faults({ random: chain.random, nowMs: () => time.nowMs() });
    const view = new NodeView({ lagSlots: 0 }, { chain, time, faults });
    const follower = new Follower(generatorOf(5, small), startSlot - 60);
    const slotCount = isLong ? longCount / 20 : 100;
    for (let slot = 0; slot < slotCount; slot++) {
      if (slot % 12 === 3) {
        faults.clear();
        faults.set(fault);
      }
      // A rollback from the branch below finality would cross finality, so the branch stays.
      if (slot % 12 === 11 && fault.kind !== 'fork-below-finality') faults.clear();
      follower.see(view.stateAt());
      time.advance(slotMs);
    }
    expect(follower.rolledBackCount).toBeGreaterThan(rolledBackMin);
    expect(follower.checker.tokens.listDifferences()).toEqual([]);
  });
});
