/**
 * Makes the content of a block. A block is a pure function of (options, branch, slot): every transaction draws from a
 * generator of its own, forked from those three and its place, and nothing is carried from block to block.
 */
import { assert } from '../../base/assert.ts';
import { Random } from '../../base/random.ts';
import type { ChainBlock } from '../chain-block.ts';
import { AddressBook } from './address-book.ts';
import { drawBalances, EXTREMES } from './balances.ts';
import { DigitTape, drawSignature } from './base58-text.ts';
import { CallFiller } from './call-accounts.ts';
import { type ContentOptions, TRANSACTION_COUNT_MAX } from './content-options.ts';
import { countCost } from './cost-units.ts';
import { buildZipfTable, drawLognormal, Quantiles, type WeightedTable } from './distributions.ts';
import { ERA_RULES } from './eras.ts';
import { HoldingDrawer } from './holdings.ts';
import { type Key, type KeyList, KeyListBuilder } from './key-list.ts';
import { ProgramCatalogue } from './program-catalogue.ts';
import { drawRewards } from './rewards.ts';
import type { SimulatedBlock, SimulatedTransaction } from './simulated-block.ts';
import { SkeletonDrawer } from './skeleton.ts';
import {
  HEADER_BYTES,
  type PooledText,
  type TextList,
  TextPool,
  type TextRegion,
} from './text-pool.ts';
import { VALIDATOR_COUNT, VoteDrawer } from './votes.ts';

const COUNT_SIGMA = 0.45;
const VERSION_0_RATE = 0.83;
/** Of the transactions of version 0; 31% of all. */
const LOOKUP_RATE = 0.31 / VERSION_0_RATE;
const BOT_COUNT = 6;
const BOT_RATE = 0.24;
const PAYER_LIFE_SLOTS = 3000;
/** A transaction names a blockhash at most this old. */
const BLOCKHASH_AGE_SLOTS = 20;
const PRIORITY_FEE = new Quantiles([
  [0, 0],
  [0.52, 0],
  [0.57, 2],
  [0.8, 3000],
  [0.92, 16_400],
  [0.98, 105_000],
  [0.999, 2_000_000],
  [1, 40_000_000],
]);
const SIGNATURE_FEE = 5000;
const UNIT_DIGITS_MAX = 9;
/** What blocks have in common is dropped, to be made again, when it takes more memory than this. */
const POOL_BYTES_MAX = 128 * 1024 * 1024;
const NO_VOTE = -1;
/** A vote's signature and data. */
const VOTE_DIGITS = 300;
/** Without a common factor with their number, so that none votes twice in a block. */
const VALIDATOR_STEP = 7;

/** What a ledger's blocks have in common, made as it is met. All of it follows from the options, so it may be dropped at any time. */
class Stock {
  readonly pool = new TextPool();
  readonly book: AddressBook;
  readonly skeletons: SkeletonDrawer;
  readonly keys: KeyListBuilder;
  readonly filler: CallFiller;
  readonly holdings: HoldingDrawer;
  readonly votes: VoteDrawer;

  constructor(options: ContentOptions, random: Random) {
    const { pool } = this;
    this.book = new AddressBook(random.fork('addresses'), pool);
    const catalogue = new ProgramCatalogue(random.fork('programs'), this.book);
    this.skeletons = new SkeletonDrawer(options, random.fork('skeletons'), { catalogue, pool });
    this.keys = new KeyListBuilder(this.book);
    this.filler = new CallFiller(random.fork('data'), pool);
    this.holdings = new HoldingDrawer(random.fork('holdings'), this.book);
    this.votes = new VoteDrawer(this.book);
  }
}

export class BlockGenerator {
  readonly #options: ContentOptions;
  readonly #random: Random;
  readonly #payers: WeightedTable;
  readonly #payerCount: number;
  readonly #tape: DigitTape;
  readonly #poolBytesMax: number;
  #stock: Stock;

  constructor(options: ContentOptions, limits = { poolBytesMax: POOL_BYTES_MAX }) {
    this.#options = options;
    this.#poolBytesMax = limits.poolBytesMax;
    this.#random = Random.fromSeed(options.seed);
    this.#payerCount = Math.max(64, Math.round(options.transactionsPerBlock * 2.4));
    this.#payers = buildZipfTable(this.#payerCount, 0.5);
    this.#tape = new DigitTape(this.#random);
    this.#stock = new Stock(options, this.#random);
  }

  generate(chainBlock: ChainBlock): SimulatedBlock {
    if (this.#stock.pool.size > this.#poolBytesMax) {
      this.#stock = new Stock(this.#options, this.#random);
    }
    const stock = this.#stock;
    const { slot, branch } = chainBlock;
    const random = this.#random.fork('block', branch, slot);
    const voters = this.#drawOrder(random);
    return {
      chainBlock,
      era: ERA_RULES[this.#options.era],
      texts: stock.pool,
      transactionCount: voters.length,
      transactionAt: (transactionIndex) => {
        const validator = voters[transactionIndex];
        assert(validator !== undefined, 'the block has a transaction at this place');
        stock.pool.passing.clear();
        const own = random.fork(transactionIndex);
        if (validator === NO_VOTE) return this.#drawTransaction(stock, slot, own);
        const recentBlockhash = drawBlockhash(stock.book, slot, own);
        this.#tape.restart(own, VOTE_DIGITS);
        return stock.votes.draw({ validator, recentBlockhash }, this.#tape);
      },
      findVersionMax: () => this.#findVersionMax(voters, random),
      drawRewards: () =>
        drawRewards(
          { slot, feeLamports: voters.length * SIGNATURE_FEE },
          { book: stock.book, options: this.#options, random: random.fork('rewards') },
        ),
    };
  }

  /** The block without transactions and rewards, for those who ask for its header only. */
  generateEmpty(chainBlock: ChainBlock): SimulatedBlock {
    return {
      chainBlock,
      era: ERA_RULES[this.#options.era],
      texts: this.#stock.pool,
      transactionCount: 0,
      transactionAt: () => {
        assert(false, 'an empty block has no transactions');
      },
      findVersionMax: () => -1,
      drawRewards: () => [],
    };
  }

  #findVersionMax(voters: readonly number[], random: Random): number {
    let max = -1;
    for (let index = 0; index < voters.length && max < 1; index++) {
      if (voters[index] !== NO_VOTE) continue;
      // A transaction draws its version before anything else.
      const version = this.#drawVersion(random.fork(index));
      if (version !== 'legacy') max = Math.max(max, version);
    }
    return max;
  }

  /** Which transactions the block has, in its order: for a vote its validator, else `NO_VOTE`. */
  #drawOrder(random: Random): number[] {
    const { transactionsPerBlock, votesPerBlock } = this.#options;
    const max = TRANSACTION_COUNT_MAX;
    const shape = { mean: transactionsPerBlock, sigma: COUNT_SIGMA, max };
    let others = drawLognormal(random, shape);
    let votes = drawLognormal(random, { mean: votesPerBlock, sigma: 0.1, max });
    const order: number[] = [];
    let validator = random.below(VALIDATOR_COUNT);
    while (others + votes > 0) {
      const isVote = random.below(others + votes) < votes;
      order.push(isVote ? validator : NO_VOTE);
      if (!isVote) others--;
      else {
        votes--;
        validator = (validator + VALIDATOR_STEP) % VALIDATOR_COUNT;
      }
    }
    return order;
  }

  #drawTransaction(stock: Stock, slot: number, random: Random): SimulatedTransaction {
    const tape = this.#tape;
    tape.restart(random);
    const { stress } = this.#options;
    const { passing } = stock.pool;
    const version = this.#drawVersion(random);
    const skeleton = stock.skeletons.draw(random);
    const { error } = skeleton;
    const payer = this.#drawPayer(stock.book, slot, random);
    const hasLookups = version === 0 && random.chance(LOOKUP_RATE);
    const list = stock.keys.build({ slot, skeleton, payer, hasLookups }, tape);
    const fee = SIGNATURE_FEE * list.signerCount + PRIORITY_FEE.draw(random);
    const plan = { fee, isFailed: error !== null, isStress: stress };
    const balances = drawBalances(list, plan, { random, texts: passing });
    const holdings = stock.holdings.draw(list, skeleton.shape, random);
    const signatures = drawSignatures(list.signerCount, tape, passing);
    const recentBlockhash = drawBlockhash(stock.book, slot, random);
    const calls = stock.filler.fill(skeleton.calls, list, tape);
    const feeText = this.#drawAmount(fee, passing, random);
    const units = this.#drawAmount(skeleton.units, passing, random);
    return {
      keys: addressesOf(list, passing),
      keyCount: list.keyCount,
      staticCount: list.staticCount,
      loadedWritableCount: list.loadedWritableCount,
      requiredSignatureCount: list.signerCount,
      readonlySignedCount: list.readonlySignedCount,
      readonlyUnsignedCount: list.readonlyUnsignedCount,
      lookups: list.lookups,
      version,
      signatures,
      recentBlockhash,
      calls,
      error,
      fee: feeText,
      computeUnits: units,
      costUnits: printCost(units, list, passing),
      preBalances: balances.pre,
      postBalances: balances.post,
      holdings: stress ? stock.holdings.disturb(holdings, random) : holdings,
      log: skeleton.log,
    };
  }

  /** The amount itself, or under stress now and then one at the ends of the range. */
  #drawAmount(amount: number, texts: TextRegion, random: Random): PooledText {
    if (this.#options.stress && random.chance(0.05)) return texts.add(random.pick(EXTREMES));
    return texts.addNumber(amount);
  }

  #drawVersion(random: Random): 'legacy' | 0 | 1 {
    if (!ERA_RULES[this.#options.era].isModern) return 'legacy';
    if (this.#options.version1Rate > 0 && random.chance(this.#options.version1Rate)) return 1;
    return random.chance(VERSION_0_RATE) ? 0 : 'legacy';
  }

  #drawPayer(book: AddressBook, slot: number, random: Random): PooledText {
    return random.chance(BOT_RATE)
      ? book.address('bot', random.below(BOT_COUNT))
      : book.address('payer', this.#drawPayerId(slot, random));
  }

  #drawPayerId(slot: number, random: Random): number {
    const rank = this.#payers.draw(random);
    const life = Math.floor((slot + rank * 7) / PAYER_LIFE_SLOTS);
    return life * this.#payerCount + rank;
  }
}

function drawBlockhash(book: AddressBook, slot: number, random: Random): PooledText {
  return book.address('blockhash', Math.max(0, slot - random.below(BLOCKHASH_AGE_SLOTS)));
}

/** An amount of units that no transaction has is its own cost. */
function printCost(units: PooledText, list: KeyList, texts: TextRegion): PooledText {
  const { pool } = texts;
  if (pool.byteCount(units) > UNIT_DIGITS_MAX) return units;
  const writableKeys = list.staticCount - list.readonlyUnsignedCount;
  const counts = { signatures: list.signerCount, writableKeys };
  return texts.addNumber(countCost(pool.readNumber(units), counts));
}

function drawSignatures(count: number, tape: DigitTape, texts: TextRegion): TextList {
  const list = texts.openList(count);
  const start = (list + HEADER_BYTES) >> 2;
  for (let i = 0; i < count; i++) texts.pool.words[start + i] = drawSignature(tape, texts);
  return list;
}

function addressesOf({ keys, keyCount }: KeyList, texts: TextRegion): TextList {
  const list = texts.openList(keyCount);
  const start = (list + HEADER_BYTES) >> 2;
  const { words } = texts.pool;
  for (let i = 0; i < keyCount; i++) words[start + i] = (keys[i] as Key).address;
  return list;
}
