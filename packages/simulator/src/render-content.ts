import type { ContentOptions } from './content/content-options.ts';
import { BlockGenerator } from './content/generate-block.ts';
import { renderRawBlock } from './content/render-raw-block.ts';
import type { RenderBlock } from './node/rendered-blocks.ts';

/** Returns a function that renders blocks with the content of a simulated ledger. Rendering only a header runs no transactions. */
export function renderContent(options: ContentOptions): RenderBlock {
  const generator = new BlockGenerator(options);
  return (chainBlock, options) => renderRawBlock(generator.generate(chainBlock), options);
}
