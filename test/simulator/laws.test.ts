/**
 * The laws of the simulated ledger over thousands of blocks and over forks. `LAW_BLOCKS` asks for more blocks than the default,
 * of the profile `demo` as it is (`npm run test:laws`).
 */
import { describe, expect, test } from 'vitest';
import { SimulatedChain } from '../../packages/server/src/simulator/chain/chain.ts';
import type { ChainBlock } from '../../packages/server/src/simulator/chain/chain-block.ts';
import type { ChainOptions } from '../../packages/server/src/simulator/chain/chain-options.ts';
import {
  type ContentInput,
  parseContentOptions,
} from '../../packages/server/src/simulator/content/content-options.ts';
import { BlockGenerator } from '../../packages/server/src/simulator/content/generate-block.ts';
import { expectedBlock } from '../../packages/server/src/simulator/content/testing/expected-block.ts';
import { LawChecker } from './check-laws.ts';

const longCount = Number(process.env['LAW_BLOCKS'] ?? 0);
const blockCount = longCount > 0 ? longCount : 2300;
const content: ContentInput =
  longCount > 0 ? {} : { transactionsPerBlock: 4, votes: 1, slotsPerEpoch: 700 };

function generatorOf(seed: number): BlockGenerator {
  return new BlockGenerator(parseContentOptions({ seed, ...content }));
}

/** Follows what a node shows as confirmed, from slot to slot, and rolls back where it changes its mind. */
function followForks(options: Partial<ChainOptions>, slotCount: number) {
  const chain = new SimulatedChain(options);
  const generator = generatorOf(chain.options.seed);
  const checker = new LawChecker();
  const applied: ChainBlock[] = [];
  let rolledBackCount = 0;
  const { slotMs, startSlot } = chain.options;
  const endMs = (startSlot + slotCount) * slotMs;
  for (let ms = startSlot * slotMs; ms < endMs; ms = chain.nextChangeMs(ms)) {
    const { branch, confirmedSlot } = chain.stateAt(ms);
    const news: ChainBlock[] = [];
    let block = branch.blockAt(confirmedSlot);
    while (block !== undefined && block.slot >= startSlot) {
      const place = applied.findLastIndex((one) => one.blockhash === block?.blockhash);
      if (place >= 0) {
        rolledBackCount += applied.splice(place + 1).length;
        break;
      }
      news.push(block);
      block = block.parent();
    }
    checker.rollBackTo(applied.at(-1)?.slot ?? startSlot - 1);
    for (const one of news.reverse()) {
      checker.apply(expectedBlock(generator.generate(one), { votes: 'keep' }));
      applied.push(one);
    }
  }
  return { checker, applied, generator, rolledBackCount };
}

describe('laws of the simulated ledger', () => {
  test('property: lamports, tokens, supplies, events and failures add up, also across windows', () => {
    const chain = new SimulatedChain({ seed: 3, skipRate: 0.02 });
    const generator = generatorOf(3);
    const checker = new LawChecker();
    let slot = 0;
    for (let count = 0; count < blockCount; count++) {
      slot = chain.nextBlock(slot);
      const block = chain.blockAt(slot) as ChainBlock;
      checker.apply(expectedBlock(generator.generate(block), { votes: 'keep' }));
      expect(checker.broken).toEqual([]);
      slot++;
    }
    expect(slot).toBeGreaterThan(generator.windowSlots);
    expect(checker.tokens.listDifferences()).toEqual([]);
    // Enough of everything has happened for the laws to say something.
    expect(checker.transactionCount).toBeGreaterThan(blockCount * 3);
    expect(checker.swapCount).toBeGreaterThan(blockCount / 2);
    expect(checker.failedCount).toBeGreaterThan(blockCount / 3);
  });

  test('property: the laws hold through forks, and the branch that wins is the one without any fork', () => {
    const options = { seed: 4, startSlot: 1900, forkRate: 0.3, forkDepthMax: 6, skipRate: 0.05 };
    const { checker, applied, generator, rolledBackCount } = followForks(options, 400);
    expect(checker.broken).toEqual([]);
    expect(checker.tokens.listDifferences()).toEqual([]);
    expect(rolledBackCount).toBeGreaterThan(50);
    // A ledger that was started anew at the end has the same block.
    const last = applied.filter((block) => block.branch === 0).at(-1) as ChainBlock;
    const again = expectedBlock(generatorOf(4).generate(last), { votes: 'keep' });
    expect(expectedBlock(generator.generate(last), { votes: 'keep' })).toEqual(again);
  });
});
