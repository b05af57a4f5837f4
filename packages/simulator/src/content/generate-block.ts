/**
 * Generates the content of a block by running its transactions on the state after its parent. A block is a function of the options and of
 * the blocks before it in its window. Every transaction has its own random generator, which is forked from the branch, the slot and its
 * index.
 */
import { Random } from '@sluice/base/random';
import type { ChainBlock } from '../chain/chain-block.ts';
import { Scene } from './actions/scene.ts';
import { BlockRunner, type VisitTransaction } from './blocks/run-block.ts';
import { Timeline } from './blocks/timeline.ts';
import type { ContentOptions } from './content-options.ts';
import { ERA_RULES } from './eras.ts';
import { Machine } from './machine/machine.ts';
import type { SimulatedBlock } from './simulated-block.ts';
import { TextPool } from './text/text-pool.ts';
import { AddressBook } from './world/address-book.ts';
import { createWorld, type World } from './world/world.ts';

/** Ledgers with at most this many transactions per block derive the addresses of all token accounts. */
const DERIVING_TRANSACTIONS_MAX = 32;
/** The world and the texts that blocks share are dropped and built again when they need more memory than this. */
const POOL_BYTES_MAX = 128 * 1024 * 1024;

export interface Stock {
  readonly pool: TextPool;
  readonly world: World;
  readonly timeline: Timeline;
}

/** Builds the world and its texts. Both follow from the options, so they can be dropped at any time. */
export function createStock(options: ContentOptions): Stock {
  const random = Random.fromSeed(options.seed);
  const pool = new TextPool();
  const world = createWorld(options);
  const derivesAll = options.transactionsPerBlock <= DERIVING_TRANSACTIONS_MAX;
  const book = new AddressBook(random.fork('addresses'), { pool, world }, { derivesAll });
  const isTokenNew = options.era === '2026';
  const machine = new Machine({ world, book, random }, { isTokenNew });
  const scene = new Scene(machine, options);
  const runner = new BlockRunner(options, { scene, random: random.fork('blocks') });
  const dependencies = { runner, random: random.fork('rewards'), world, book };
  return { pool, world, timeline: new Timeline(options, dependencies) };
}

export class BlockGenerator {
  readonly #options: ContentOptions;
  readonly #poolBytesMax: number;
  #stock: Stock;

  constructor(options: ContentOptions, limits = { poolBytesMax: POOL_BYTES_MAX }) {
    this.#options = options;
    this.#poolBytesMax = limits.poolBytesMax;
    this.#stock = createStock(options);
  }

  /** The number of slots of a window. To generate a block, all blocks before it in its window must be run. */
  get windowSlots(): number {
    return this.#stock.timeline.windowSlots;
  }

  generate(chainBlock: ChainBlock): SimulatedBlock {
    if (this.#stock.pool.size > this.#poolBytesMax) this.#stock = createStock(this.#options);
    const { pool, timeline } = this.#stock;
    return {
      chainBlock,
      era: ERA_RULES[this.#options.era],
      texts: pool,
      forEachTransaction: (visit: VisitTransaction) => timeline.run(chainBlock, visit),
      rewards: () => timeline.rewardsOf(chainBlock),
    };
  }
}
