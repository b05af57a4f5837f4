import type { ChainBlock } from './chain-block.ts';
import type { RenderOptions } from './content/render-raw-block.ts';

/** The JSON of a getBlock result. */
export interface RenderedBlock {
  readonly json: Uint8Array;
  /** The highest transaction version in the block; -1 if all are legacy. */
  readonly versionMax: number;
}

export type RenderBlock = (block: ChainBlock, options: RenderOptions) => RenderedBlock;

/** Rendered blocks, the most recently used ones kept, bounded in bytes: several clients ask for the same block. */
export class RenderedBlocks {
  readonly #bytesMax: number;
  readonly #render: RenderBlock;
  readonly #blocks = new Map<string, RenderedBlock>();
  #bytes = 0;

  constructor(options: { bytesMax: number }, modules: { render: RenderBlock }) {
    this.#bytesMax = options.bytesMax;
    this.#render = modules.render;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(block: ChainBlock, options: RenderOptions): RenderedBlock {
    const key = `${block.branch}/${block.slot}/${options.transactionDetails}/${options.rewards}`;
    const known = this.#blocks.get(key);
    const rendered = known ?? this.#render(block, options);
    // Taken out and put in again, it is the youngest; the map's order is the order of use.
    if (known !== undefined) this.#drop(key, known);
    this.#blocks.set(key, rendered);
    this.#bytes += rendered.json.length;
    this.#evict();
    return rendered;
  }

  #evict(): void {
    for (const [key, rendered] of this.#blocks) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#drop(key, rendered);
    }
  }

  #drop(key: string, rendered: RenderedBlock): void {
    this.#blocks.delete(key);
    this.#bytes -= rendered.json.length;
  }
}
