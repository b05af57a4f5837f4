import { LRUCache } from 'lru-cache';
import type { ChainBlock } from '../chain/chain-block.ts';
import type { RenderedContent, RenderOptions } from '../content/render-raw-block.ts';

export type RenderBlock = (block: ChainBlock, options: RenderOptions) => RenderedContent;

/** A client that is at most this many slots behind a new block will request it with the same options as the last one. */
const followedSlotsMax = 8;

/** Caches the most recently used rendered blocks, because several clients request the same block. */
export class RenderedBlocks {
  readonly #render: RenderBlock;
  readonly #cache: LRUCache<string, RenderedContent>;
  /** The highest block that was requested with its transactions, and the options of the request. */
  #highest: { readonly slot: number; readonly options: RenderOptions } | undefined;

  constructor({ bytesMax }: { bytesMax: number }, dependencies: { render: RenderBlock }) {
    this.#render = dependencies.render;
    const sizeCalculation = ({ json }: RenderedContent): number => json.length;
    this.#cache = new LRUCache({ maxSize: bytesMax, sizeCalculation });
  }

  get bytes(): number {
    return this.#cache.calculatedSize;
  }

  get(block: ChainBlock, options: RenderOptions): RenderedContent {
    const { slot } = block;
    const isWhole = options.transactionDetails !== 'none';
    if (isWhole && slot >= (this.#highest?.slot ?? slot)) this.#highest = { slot, options };
    return this.#load(block, options);
  }

  /**
   * Renders a block that a client at the head will request next. A real node has the content of a block before it can be requested.
   * Rendering it on demand would delay the response.
   */
  prepare(block: ChainBlock): void {
    if (this.#highest === undefined) return;
    const { slot, options } = this.#highest;
    if (block.slot - slot <= followedSlotsMax) this.#load(block, options);
  }

  #load(block: ChainBlock, options: RenderOptions): RenderedContent {
    const key = `${block.branch}/${block.slot}/${options.transactionDetails}/${options.rewards}`;
    let rendered = this.#cache.get(key);
    if (rendered === undefined) {
      rendered = this.#render(block, options);
      this.#cache.set(key, rendered);
    }
    return rendered;
  }
}
