/**
 * Makes the content of a block. A block is a pure function of (options, branch, slot): every transaction draws from a
 * generator of its own, forked from those three and its place, and nothing is carried from block to block.
 */
import { assert } from '../../base/assert.ts';
import { Random } from '../../base/random.ts';
import type { Address, Signature } from '../../ledger/primitives.ts';
import type { ChainBlock } from '../chain-block.ts';
import { AddressBook } from './address-book.ts';
import { drawBalances, EXTREMES } from './balances.ts';
import { DigitTape, drawSignature } from './base58-text.ts';
import { CallFiller } from './call-accounts.ts';
import { type ContentOptions, TRANSACTION_COUNT_MAX } from './content-options.ts';
import { buildZipfTable, drawLognormal, Quantiles, type WeightedTable } from './distributions.ts';
import { ERA_RULES } from './eras.ts';
import { disturbHoldings, HoldingDrawer } from './holdings.ts';
import { type Key, KeyListBuilder } from './key-list.ts';
import { ProgramCatalogue } from './program-catalogue.ts';
import { drawRewards } from './rewards.ts';
import type { SimulatedBlock, SimulatedTransaction } from './simulated-block.ts';
import { SkeletonDrawer } from './skeleton.ts';
import { drawVote, VALIDATOR_COUNT } from './votes.ts';

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
const NO_VOTE = -1;
/** A vote's signature and data. */
const VOTE_DIGITS = 300;
/** Without a common factor with their number, so that none votes twice in a block. */
const VALIDATOR_STEP = 7;

export class BlockGenerator {
  readonly #options: ContentOptions;
  readonly #random: Random;
  readonly #book: AddressBook;
  readonly #skeletons: SkeletonDrawer;
  readonly #keys: KeyListBuilder;
  readonly #filler: CallFiller;
  readonly #holdings: HoldingDrawer;
  readonly #payers: WeightedTable;
  readonly #payerCount: number;

  constructor(options: ContentOptions) {
    this.#options = options;
    this.#random = Random.fromSeed(options.seed);
    this.#book = new AddressBook(this.#random.fork('addresses'));
    const catalogue = new ProgramCatalogue(this.#random.fork('programs'), this.#book);
    this.#skeletons = new SkeletonDrawer(options, this.#random.fork('skeletons'), catalogue);
    this.#keys = new KeyListBuilder(this.#book);
    this.#filler = new CallFiller(this.#random.fork('data'));
    this.#holdings = new HoldingDrawer(this.#random.fork('holdings'), this.#book);
    this.#payerCount = Math.max(64, Math.round(options.transactionsPerBlock * 2.4));
    this.#payers = buildZipfTable(this.#payerCount, 0.5);
  }

  generate(chainBlock: ChainBlock): SimulatedBlock {
    const { slot, branch } = chainBlock;
    const random = this.#random.fork('block', branch, slot);
    const voters = this.#drawOrder(random);
    return {
      chainBlock,
      era: ERA_RULES[this.#options.era],
      transactionCount: voters.length,
      transactionAt: (transactionIndex) => {
        const validator = voters[transactionIndex];
        assert(validator !== undefined, 'the block has a transaction at this place');
        const own = random.fork(transactionIndex);
        if (validator === NO_VOTE) return this.#drawTransaction(slot, new DigitTape(own));
        const recentBlockhash = this.#blockhash(slot, own);
        return drawVote(
          this.#book,
          { validator, recentBlockhash },
          new DigitTape(own, VOTE_DIGITS),
        );
      },
      findVersionMax: () => this.#findVersionMax(voters, random),
      rewards: drawRewards(
        { slot, feeLamports: voters.length * SIGNATURE_FEE },
        { book: this.#book, options: this.#options, random: random.fork('rewards') },
      ),
    };
  }

  /** The block without transactions and rewards, for those who ask for its header only. */
  generateEmpty(chainBlock: ChainBlock): SimulatedBlock {
    return {
      chainBlock,
      era: ERA_RULES[this.#options.era],
      transactionCount: 0,
      transactionAt: () => {
        assert(false, 'an empty block has no transactions');
      },
      findVersionMax: () => -1,
      rewards: [],
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

  #drawTransaction(slot: number, tape: DigitTape): SimulatedTransaction {
    const { random } = tape;
    const { stress } = this.#options;
    const version = this.#drawVersion(random);
    const skeleton = this.#skeletons.draw(random);
    const { error } = skeleton;
    const payer = this.#drawPayer(slot, random);
    const hasLookups = version === 0 && random.chance(LOOKUP_RATE);
    const list = this.#keys.build({ slot, skeleton, payer, hasLookups }, tape);
    const fee = SIGNATURE_FEE * list.signerCount + PRIORITY_FEE.draw(random);
    const plan = { fee, isFailed: error !== null, isStress: stress };
    const balances = drawBalances(list, plan, random);
    const holdings = this.#holdings.draw(list, skeleton.shape, random);
    const signatures: Signature[] = [];
    for (let i = 0; i < list.signerCount; i++) signatures.push(drawSignature(tape));
    return {
      keys: addressesOf(list.keys),
      staticCount: list.staticCount,
      loadedWritableCount: list.loadedWritableCount,
      requiredSignatureCount: list.signerCount,
      readonlySignedCount: list.readonlySignedCount,
      readonlyUnsignedCount: list.readonlyUnsignedCount,
      lookups: list.lookups,
      version,
      signatures,
      recentBlockhash: this.#blockhash(slot, random),
      calls: this.#filler.fill(skeleton.calls, list, tape),
      error,
      fee: stress && random.chance(0.05) ? random.pick(EXTREMES) : String(fee),
      computeUnits: stress && random.chance(0.05) ? random.pick(EXTREMES) : String(skeleton.units),
      preBalances: balances.pre,
      postBalances: balances.post,
      holdings: stress ? disturbHoldings(holdings, this.#book, random) : holdings,
      log: skeleton.log,
    };
  }

  #drawVersion(random: Random): 'legacy' | 0 | 1 {
    if (!ERA_RULES[this.#options.era].isModern) return 'legacy';
    if (this.#options.version1Rate > 0 && random.chance(this.#options.version1Rate)) return 1;
    return random.chance(VERSION_0_RATE) ? 0 : 'legacy';
  }

  #drawPayer(slot: number, random: Random): Key {
    const address = random.chance(BOT_RATE)
      ? this.#book.address('bot', random.below(BOT_COUNT))
      : this.#book.address('payer', this.#drawPayerId(slot, random));
    return { address, resting: '0', role: 'payer', market: -1 };
  }

  #drawPayerId(slot: number, random: Random): number {
    const rank = this.#payers.draw(random);
    const life = Math.floor((slot + rank * 7) / PAYER_LIFE_SLOTS);
    return life * this.#payerCount + rank;
  }

  #blockhash(slot: number, random: Random): Address {
    return this.#book.address('blockhash', Math.max(0, slot - random.below(BLOCKHASH_AGE_SLOTS)));
  }
}

/** A loop: this is done for every transaction, and twenty keys each. */
function addressesOf(keys: readonly Key[]): Address[] {
  const addresses: Address[] = [];
  for (const key of keys) addresses.push(key.address);
  return addresses;
}
