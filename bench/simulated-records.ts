import { assert } from '@sluice/base/assert';
import type { Block } from '@sluice/ledger/block';
import { toSlot } from '@sluice/ledger/primitives';
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import { type ContentInput, parseContentOptions } from '@sluice/simulator/content/content-options';
import { renderContent } from '@sluice/simulator/render-content';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';

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
    yield normalizeBlock(toSlot(chainBlock.slot), json).block;
    slot++;
  }
}
