/**
 * Checks the laws of the simulated ledger over 2,300 blocks of the profile `demo` and 40 of each larger profile. `LAW_BLOCKS` requests more blocks and seeds, with the
 * transaction counts of the profiles (`npm run test:laws`).
 */

import { SimulatedChain } from '@sluice/simulator/chain/chain';
import type { ChainBlock } from '@sluice/simulator/chain/chain-block';
import type { ContentInput } from '@sluice/simulator/content/content-options';
import { renderRawBlock } from '@sluice/simulator/content/render-raw-block';
import { describe, expect, test } from 'vitest';
import { expectedBlock } from '../../packages/simulator/src/content/testing/expected-block.ts';
import { LawChecker } from './check-laws.ts';
import { WireChecker } from './check-wire.ts';
import { generatorOf, isLong, longCount, SMALL } from './law-runs.ts';

const seeds = isLong ? [3, 11, 12, 13] : [3];
const medium: ContentInput = { transactionsPerBlock: 100, votes: 30, slotsPerEpoch: 100 };

/** Returns this many blocks of the final chain: more than a window, or the blocks around the end of the first window. */
function* listBlocks(seed: number, windowSlots: number, blockCount: number): Generator<ChainBlock> {
  const chain = new SimulatedChain({ seed, skipRate: 0.02 });
  let slot = blockCount > windowSlots ? 0 : windowSlots - (blockCount >> 1);
  for (let count = 0; count < blockCount; count++) {
    slot = chain.nextBlock(slot);
    yield chain.blockAt(slot) as ChainBlock;
    slot++;
  }
  expect(slot).toBeGreaterThan(windowSlots);
}

function checkChain(seed: number, content: ContentInput, blockCount: number): LawChecker {
  const generator = generatorOf(seed, content);
  const { windowSlots } = generator;
  const checker = new LawChecker();
  for (const block of listBlocks(seed, windowSlots, blockCount)) {
    checker.apply(expectedBlock(generator.generate(block), { votes: 'keep' }));
    if (block.nextSlot() % windowSlots < block.slot % windowSlots) checker.checkSums(block.slot);
    expect(checker.broken).toEqual([]);
  }
  checker.checkSums('the end');
  expect(checker.broken).toEqual([]);
  return checker;
}

describe('laws of the simulated ledger', () => {
  test.each(seeds)(
    'property: lamports, tokens, supplies, events and failures add up, also across windows (seed %d)',
    (seed) => {
      const blockCount = isLong ? Math.ceil(longCount / seeds.length) : 2300;
      const { counts, events } = checkChain(seed, isLong ? {} : SMALL, blockCount);
      // The laws are only meaningful if enough has happened.
      expect(counts.transactions).toBeGreaterThan(blockCount * 3);
      expect(counts.checkedTransfers).toBeGreaterThan(blockCount / 20);
      expect(counts.failed).toBeGreaterThan(blockCount / 3);
      expect(counts.loaded).toBeGreaterThan(blockCount);
      expect(counts.wrapped).toBeGreaterThan(blockCount / 20);
      expect(events.counts.get('swap')).toBeGreaterThan(blockCount / 2);
      expect(events.counts.get('route')).toBeGreaterThan(blockCount / 20);
      expect(events.counts.get('arbitrage')).toBeGreaterThan(0);
      for (const [name, count] of events.counts) expect(count, name).toBeGreaterThan(0);
    },
  );

  test.each(['2025', 'busy'] as const)('property: the same holds for the profile %s', (profile) => {
    const blockCount = isLong ? Math.ceil(longCount / 100) : 40;
    const content = { profile, ...(isLong ? {} : medium) };
    const { counts, events } = checkChain(6, content, blockCount);
    expect(counts.failed).toBeGreaterThan(blockCount * 5);
    expect(events.counts.get('swap')).toBeGreaterThan(blockCount * 5);
  });

  test('property: in the bytes of blocks, the balances of an account before a transaction are those after the previous one', () => {
    const generator = generatorOf(3, SMALL);
    const checker = new WireChecker();
    for (const block of listBlocks(3, generator.windowSlots, isLong ? longCount / 10 : 300)) {
      const full = { transactionDetails: 'full', rewards: true } as const;
      checker.apply(renderRawBlock(generator.generate(block), full).json);
      expect(checker.broken).toEqual([]);
    }
    expect(checker.keptCount).toBeGreaterThan(3000);
  });
});
