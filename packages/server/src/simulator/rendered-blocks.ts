import { assert } from '../base/assert.ts';
import type { ChainBlock } from './chain-block.ts';
import type { RenderOptions } from './content/render-raw-block.ts';
import { SpareRooms } from './spare-rooms.ts';

/** The JSON of a getBlock result. */
export interface RenderedBlock {
  readonly json: Uint8Array;
  /** The highest transaction version in the block; -1 if all are legacy. */
  readonly versionMax: number;
}

/** Where a renderer may put its bytes. */
export type TakeRoom = (byteCount: number) => Uint8Array;

export type RenderBlock = (
  block: ChainBlock,
  options: RenderOptions,
  takeRoom?: TakeRoom,
) => RenderedBlock;

interface Entry {
  readonly rendered: RenderedBlock;
  /** How often it was handed out and not returned. */
  useCount: number;
  isKept: boolean;
}

/** A client this many slots behind a new block will ask for it as it asked for the last one. */
const followedSlotsMax = 8;

/**
 * Rendered blocks, the most recently used ones kept, bounded in bytes: several clients ask for the same block.
 *
 * Who is done with a block's bytes for good may say so (`release`); once nobody uses them and they are not kept, the
 * next block is rendered in their room. Bytes that are never released are left to the collector.
 */
export class RenderedBlocks {
  readonly #bytesMax: number;
  readonly #render: RenderBlock;
  readonly #takeRoom: TakeRoom;
  readonly #rooms: SpareRooms;
  readonly #kept = new Map<string, Entry>();
  readonly #entries = new WeakMap<Uint8Array, Entry>();
  #bytes = 0;
  /** The highest block that was asked for with its transactions, and how. */
  #highest: { readonly slot: number; readonly options: RenderOptions } | undefined;

  constructor(options: { bytesMax: number }, modules: { render: RenderBlock }) {
    this.#bytesMax = options.bytesMax;
    this.#render = modules.render;
    this.#rooms = new SpareRooms({ bytesMax: options.bytesMax / 2 });
    this.#takeRoom = (byteCount) => this.#rooms.take(byteCount);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(block: ChainBlock, options: RenderOptions): RenderedBlock {
    const { slot } = block;
    const isWhole = options.transactionDetails !== 'none';
    if (isWhole && slot >= (this.#highest?.slot ?? slot)) this.#highest = { slot, options };
    const key = keyOf(block, options);
    const known = this.#kept.get(key);
    const entry = known ?? this.#create(block, options);
    entry.useCount++;
    // Taken out and put in again, it is the youngest; the map's order is the order of use.
    if (known !== undefined) this.#remove(key, known);
    this.#keep(key, entry);
    return entry.rendered;
  }

  /**
   * Makes a block that somebody who follows will ask for. A node has the content of a block before anyone may ask; made
   * on the first question, it would come as late as making it takes.
   */
  foresee(block: ChainBlock): void {
    if (this.#highest === undefined) return;
    const { slot, options } = this.#highest;
    const key = keyOf(block, options);
    if (block.slot - slot > followedSlotsMax || this.#kept.has(key)) return;
    this.#keep(key, this.#create(block, options));
  }

  /** Says that one who got these bytes does not read them any more. Bytes that are not from here are left alone. */
  release(json: Uint8Array): void {
    const entry = this.#entries.get(json);
    if (entry === undefined) return;
    assert(entry.useCount > 0, 'bytes are released as often as they were handed out');
    entry.useCount--;
    this.#recycle(entry);
  }

  #create(block: ChainBlock, options: RenderOptions): Entry {
    const rendered = this.#render(block, options, this.#takeRoom);
    const entry = { rendered, useCount: 0, isKept: true };
    this.#entries.set(rendered.json, entry);
    return entry;
  }

  #keep(key: string, entry: Entry): void {
    this.#kept.set(key, entry);
    this.#bytes += entry.rendered.json.length;
    this.#evict();
  }

  #evict(): void {
    for (const [key, entry] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(key, entry);
      entry.isKept = false;
      this.#recycle(entry);
    }
  }

  #remove(key: string, { rendered }: Entry): void {
    this.#kept.delete(key);
    this.#bytes -= rendered.json.length;
  }

  #recycle({ rendered, useCount, isKept }: Entry): void {
    if (useCount > 0 || isKept) return;
    this.#entries.delete(rendered.json);
    this.#rooms.giveBack(rendered.json);
  }
}

function keyOf(
  { branch, slot }: ChainBlock,
  { transactionDetails, rewards }: RenderOptions,
): string {
  return `${branch}/${slot}/${transactionDetails}/${rewards}`;
}
