import { assert } from '@sluice/server/dist/base/assert.js';
import type { Block } from '@sluice/server/dist/ledger/block.js';
import { SimulatedChain } from '@sluice/server/dist/simulator/chain.js';
import { parseContentOptions } from '@sluice/server/dist/simulator/content/content-options.js';
import { expectedBlock } from '@sluice/server/dist/simulator/content/expected-block.js';
import { BlockGenerator } from '@sluice/server/dist/simulator/content/generate-block.js';

export interface CorpusOptions {
  readonly seed: number;
  readonly blockCount: number;
}

/** Generates blocks of the simulator's 2025 profile without votes. */
export function* corpusBlocks({ seed, blockCount }: CorpusOptions): Generator<Block> {
  const chain = new SimulatedChain({ seed });
  const content = parseContentOptions({ seed, profile: '2025', votes: false });
  const generator = new BlockGenerator(content);
  let { startSlot: slot } = chain.options;
  for (let count = 0; count < blockCount; count++) {
    slot = chain.nextBlock(slot);
    const chainBlock = chain.blockAt(slot);
    assert(chainBlock !== undefined, 'nextBlock returns the slot of a block');
    yield expectedBlock(generator.generate(chainBlock), { votes: 'drop' });
    slot++;
  }
}
