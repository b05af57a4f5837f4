/**
 * Makes the content of a block. A block is a pure function of (options, branch, slot): every transaction draws from a
 * generator of its own, forked from those three and its place, and nothing is carried from block to block.
 */
import { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import type { ChainBlock } from '../chain-block.ts';
import { AddressBook } from './address-book.ts';
import { drawBalances, EXTREMES } from './balances.ts';
import { drawSignature } from './base58-text.ts';
import { CallFiller } from './call-accounts.ts';
import { type CallTree, CallTreeBuilder } from './call-tree.ts';
import { type ContentOptions, TRANSACTION_COUNT_MAX } from './content-options.ts';
import { buildZipfTable, drawLognormal, Quantiles, type WeightedTable } from './distributions.ts';
import { ERA_RULES } from './eras.ts';
import { drawFailure, type FailureRates } from './failures.ts';
import { disturbHoldings, HoldingDrawer } from './holdings.ts';
import { type Key, type KeyList, KeyListBuilder } from './key-list.ts';
import { LogPrinter, printOldForm } from './print-log.ts';
import { ProgramCatalogue } from './program-catalogue.ts';
import { drawRewards } from './rewards.ts';
import type {
  SimulatedBlock,
  SimulatedError,
  SimulatedLog,
  SimulatedTransaction,
} from './simulated-block.ts';
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
  [0.42, 0],
  [0.5, 1],
  [0.7, 1500],
  [0.9, 16_400],
  [0.98, 105_000],
  [0.999, 2_000_000],
  [1, 40_000_000],
]);
const SIGNATURE_FEE = 5000;

const NO_LOG: SimulatedLog = { form: 'none', lines: [], markIndex: 0, isPlain: true };

export class BlockGenerator {
  readonly #options: ContentOptions;
  readonly #random: Random;
  readonly #book: AddressBook;
  readonly #trees: CallTreeBuilder;
  readonly #keys: KeyListBuilder;
  readonly #filler: CallFiller;
  readonly #holdings: HoldingDrawer;
  readonly #payers: WeightedTable;
  readonly #payerCount: number;
  readonly #rates: FailureRates;

  constructor(options: ContentOptions) {
    this.#options = options;
    this.#random = Random.fromSeed(options.seed);
    this.#book = new AddressBook(this.#random.fork('addresses'));
    const catalogue = new ProgramCatalogue(this.#random.fork('programs'), this.#book);
    this.#trees = new CallTreeBuilder(catalogue, { isStress: options.stress });
    this.#keys = new KeyListBuilder(this.#book);
    this.#filler = new CallFiller(this.#random.fork('data'));
    this.#holdings = new HoldingDrawer(this.#random.fork('holdings'), this.#book);
    this.#payerCount = Math.max(64, Math.round(options.transactionsPerBlock * 2.4));
    this.#payers = buildZipfTable(this.#payerCount, 0.5);
    this.#rates = {
      failure: options.failureRate,
      feeOnly: options.stress ? 0.06 : 0.004,
      rent: options.stress ? 0.06 : 0.004,
      beforeInvoke: options.stress ? 0.15 : 0.006,
    };
  }

  generate(chainBlock: ChainBlock): SimulatedBlock {
    const { slot, branch } = chainBlock;
    const random = this.#random.fork('block', branch, slot);
    const kinds = this.#drawOrder(random);
    const firstVoter = random.below(VALIDATOR_COUNT);
    let voteCount = 0;
    let feeLamports = 0;
    const transactions = kinds.map((isVote, place) => {
      const own = random.fork(place);
      if (!isVote) {
        const transaction = this.#drawTransaction(slot, own);
        feeLamports += SIGNATURE_FEE * transaction.requiredSignatureCount;
        return transaction;
      }
      feeLamports += SIGNATURE_FEE;
      const validator = (firstVoter + voteCount++ * 7) % VALIDATOR_COUNT;
      return drawVote(this.#book, { validator, recentBlockhash: this.#blockhash(slot, own) }, own);
    });
    const rewards = drawRewards(
      { slot, feeLamports },
      { book: this.#book, options: this.#options, random: random.fork('rewards') },
    );
    return { chainBlock, era: ERA_RULES[this.#options.era], transactions, rewards };
  }

  /** True for a vote: which transactions the block has, in its order. */
  #drawOrder(random: Random): boolean[] {
    const { transactionsPerBlock, votesPerBlock } = this.#options;
    const max = TRANSACTION_COUNT_MAX;
    const shape = { mean: transactionsPerBlock, sigma: COUNT_SIGMA, max };
    let others = drawLognormal(random, shape);
    let votes = drawLognormal(random, { mean: votesPerBlock, sigma: 0.1, max });
    const order: boolean[] = [];
    while (others + votes > 0) {
      const isVote = random.below(others + votes) < votes;
      order.push(isVote);
      if (isVote) votes--;
      else others--;
    }
    return order;
  }

  #drawTransaction(slot: number, random: Random): SimulatedTransaction {
    const { stress } = this.#options;
    const version = this.#drawVersion(random);
    const tree = this.#trees.build(random);
    if (stress && random.chance(0.2)) silenceBudget(tree);
    const error = drawFailure(tree.calls, this.#rates, random);
    const list = this.#keys.build(
      {
        slot,
        shape: tree.shape,
        calls: tree.calls,
        payer: this.#drawPayer(slot, random),
        hasLookups: version === 0 && random.chance(LOOKUP_RATE),
      },
      random,
    );
    this.#filler.fill(tree.calls, list, random);
    const log = this.#drawLog(tree, error, random);
    const fee = SIGNATURE_FEE * list.signatureCount + PRIORITY_FEE.draw(random);
    const plan = { fee, isFailed: error !== null, isStress: stress };
    const balances = drawBalances(list, plan, random);
    const holdings = this.#holdings.draw(list, tree.shape, random);
    let units = 0;
    for (const call of tree.calls) units += call.units;
    return {
      ...describeKeys(list),
      version,
      signatures: list.keys.slice(0, list.signatureCount).map(() => drawSignature(random)),
      recentBlockhash: this.#blockhash(slot, random),
      calls: tree.calls,
      error,
      fee: stress && random.chance(0.05) ? random.pick(EXTREMES) : String(fee),
      computeUnits: stress && random.chance(0.05) ? random.pick(EXTREMES) : String(units),
      preBalances: balances.pre,
      postBalances: balances.post,
      holdings: stress ? disturbHoldings(holdings, this.#book, random) : holdings,
      log,
    };
  }

  #drawVersion(random: Random): 'legacy' | 0 | 1 {
    if (!ERA_RULES[this.#options.era].isModern) return 'legacy';
    if (this.#options.version1Rate > 0 && random.chance(this.#options.version1Rate)) return 1;
    return random.chance(VERSION_0_RATE) ? 0 : 'legacy';
  }

  #drawLog(tree: CallTree, error: SimulatedError | null, random: Random): SimulatedLog {
    const log = new LogPrinter(random, { isStress: this.#options.stress }).print(tree.calls);
    // Where only the fee was taken nothing was recorded.
    if (error !== null && log.lines.length === 0 && error.variant !== 'InstructionError')
      return NO_LOG;
    if (ERA_RULES[this.#options.era].logs === 'modern') return log;
    const choice = random.unit();
    if (choice < 0.34) return NO_LOG;
    return choice < 0.67 ? printOldForm(log) : log;
  }

  #drawPayer(slot: number, random: Random): Key {
    const address = random.chance(BOT_RATE)
      ? this.#book.address('bot', random.below(BOT_COUNT))
      : this.#book.address('payer', this.#drawPayerId(slot, random));
    return { address, resting: '0', role: 'payer', market: -1, index: -1 };
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

function describeKeys(list: KeyList) {
  return {
    keys: list.keys.map((key) => key.address),
    staticCount: list.staticCount,
    loadedWritableCount: list.loadedWritableCount,
    requiredSignatureCount: list.signatureCount,
    readonlySignedCount: list.readonlySignedCount,
    readonlyUnsignedCount: list.readonlyUnsignedCount,
    lookups: list.lookups,
  };
}

/** Some versions of the node run the compute budget without a word. */
function silenceBudget(tree: CallTree): void {
  for (const call of tree.calls) if (call.program.role === 'budget') call.prints = false;
}
