import { describe, expect, test } from 'vitest';
import { SimulatedChain } from '../../packages/server/src/simulator/chain.ts';
import { parseContentOptions } from '../../packages/server/src/simulator/content/content-options.ts';
import { expectedBlock } from '../../packages/server/src/simulator/content/expected-block.ts';
import { BlockGenerator } from '../../packages/server/src/simulator/content/generate-block.ts';
import { LawChecker } from './check-laws.ts';

describe('laws', () => {
  test('property: over a window and its end', () => {
    const chain = new SimulatedChain({ seed: 1 });
    const generator = new BlockGenerator(parseContentOptions({ seed: 1 }));
    const checker = new LawChecker();
    for (let slot = chain.nextBlock(0); slot < 5000; slot = chain.nextBlock(slot + 1)) {
      const block = chain.blockAt(slot);
      if (block === undefined) continue;
      checker.apply(expectedBlock(generator.generate(block), { votes: 'keep' }));
      expect(checker.broken).toEqual([]);
    }
    console.log(checker.transactionCount, checker.swapCount, checker.failedCount);
  });
});
