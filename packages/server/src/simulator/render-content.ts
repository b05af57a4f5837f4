import type { ContentOptions } from './content/content-options.ts';
import { ERA_RULES } from './content/eras.ts';
import { BlockGenerator } from './content/generate-block.ts';
import { renderRawBlock } from './content/render-raw-block.ts';
import type { RenderBlock } from './rendered-blocks.ts';

/** Renders blocks with the content of a simulated ledger. */
export function renderContent(options: ContentOptions): RenderBlock {
  const generator = new BlockGenerator(options);
  const era = ERA_RULES[options.era];
  return (chainBlock, asked) => {
    // A header needs none of the work that a block's transactions are.
    const isHeader = asked.transactionDetails === 'none' && !asked.rewards;
    const block = isHeader
      ? { chainBlock, era, transactions: [], rewards: [] }
      : generator.generate(chainBlock);
    let versionMax = -1;
    for (const { version } of block.transactions) {
      if (version !== 'legacy' && version > versionMax) versionMax = version;
    }
    return { json: renderRawBlock(block, asked), versionMax };
  };
}
