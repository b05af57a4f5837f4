import { assert } from '@sluice/server/dist/base/assert.js';
import type { Block } from '@sluice/server/dist/ledger/block.js';
import { SimulatedChain } from '@sluice/server/dist/simulator/chain/chain.js';
import {
  type ContentInput,
  parseContentOptions,
} from '@sluice/server/dist/simulator/content/content-options.js';
import { renderContent } from '@sluice/server/dist/simulator/render-content.js';
import { normalizeBlock } from '@sluice/server/dist/source/normalize/normalize-block.js';

/** Generates blocks of the final chain of a simulated ledger from a slot on, as records without votes. */
export function* simulatedRecords(
  content: ContentInput & { readonly seed: number },
  { firstSlot, blockCount }: { firstSlot: number; blockCount: number },
): Generator<Block> {
  const chain = new SimulatedChain({ seed: content.seed });
  const render = renderContent(parseContentOptions({ ...content, votes: false }));
  let slot = firstSlot;
  for (let count = 0; count < blockCount; count++) {
    slot = chain.nextBlock(slot);
    const chainBlock = chain.blockAt(slot);
    assert(chainBlock !== undefined, 'nextBlock returns the slot of a block');
    const { json } = render(chainBlock, { transactionDetails: 'full', rewards: true });
    yield normalizeBlock(chainBlock.slot, json).block;
    slot++;
  }
}
