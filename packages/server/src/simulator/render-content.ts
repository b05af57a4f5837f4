import type { ContentOptions } from './content/content-options.ts';
import { BlockGenerator } from './content/generate-block.ts';
import { renderRawBlock } from './content/render-raw-block.ts';
import type { RenderBlock } from './rendered-blocks.ts';

/** Renders blocks with the content of a simulated ledger. */
export function renderContent(options: ContentOptions): RenderBlock {
  const generator = new BlockGenerator(options);
  return (chainBlock, asked, takeRoom) => {
    // A header needs none of the work that a block's transactions are.
    const isHeader = asked.transactionDetails === 'none' && !asked.rewards;
    const block = isHeader ? generator.generateEmpty(chainBlock) : generator.generate(chainBlock);
    return renderRawBlock(block, asked, takeRoom);
  };
}
