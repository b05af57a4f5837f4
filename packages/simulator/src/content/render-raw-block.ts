/**
 * Prints a simulated block as a node returns it from `getBlock` with `encoding: json`: no white space, keys in alphabetical order, every
 * digit of every number. All texts except log lines are ASCII without characters that need escaping.
 */
import type { EraRules } from './eras.ts';
import type {
  Call,
  Holding,
  SimulatedBlock,
  SimulatedError,
  SimulatedLookup,
  SimulatedReward,
  SimulatedTransaction,
} from './simulated-block.ts';
import { JsonPrinter } from './text/json-printer.ts';
import { type JsonWords, poolJsonWords } from './text/json-words.ts';
import type { AmountList, TextList, TextPool } from './text/text-pool.ts';

export type TransactionDetails = 'full' | 'none';

export interface RenderOptions {
  readonly transactionDetails: TransactionDetails;
  readonly rewards: boolean;
}

const UPPER_HALF = 4_294_967_296;
/** Amounts whose upper half is below this have at most 15 digits. */
const EXACT_HIGH_END = Math.floor(1e15 / UPPER_HALF);

const printers = new WeakMap<TextPool, BlockPrinter>();

export interface RenderedContent {
  /** The UTF-8 bytes of the value of `result`. */
  readonly json: Uint8Array;
  /** The highest version among the transactions that were printed; -1 if all are legacy. */
  readonly versionMax: number;
}

export function renderRawBlock(block: SimulatedBlock, options: RenderOptions): RenderedContent {
  let printer = printers.get(block.texts);
  if (printer === undefined) {
    printer = new BlockPrinter(block.texts);
    printers.set(block.texts, printer);
  }
  return printer.print(block, options);
}

class BlockPrinter extends JsonPrinter {
  readonly #words: JsonWords;

  constructor(pool: TextPool) {
    super(pool);
    this.#words = poolJsonWords(pool);
  }

  print(block: SimulatedBlock, options: RenderOptions): RenderedContent {
    const { chainBlock, era } = block;
    const height = era.hasHeight ? chainBlock.height : null;
    const time = era.hasTime ? chainBlock.blockTime : null;
    this.begin();
    this.string(
      `{"blockHeight":${height},"blockTime":${time},"blockhash":"${chainBlock.blockhash}"` +
        `,"parentSlot":${chainBlock.parentSlot},"previousBlockhash":"${chainBlock.previousBlockhash}"`,
    );
    this.forgetStrings();
    // The rewards depend on the fees of the transactions, so they are printed after them and then moved.
    const to = this.position();
    const versionMax = this.#printTransactions(block, options);
    this.text(this.#words.closeObject);
    const from = this.position();
    if (options.rewards) this.#printRewards(block.rewards());
    return { json: this.finish({ to, from }), versionMax };
  }

  #printRewards(rewards: readonly SimulatedReward[]): void {
    const words = this.#words;
    this.text(words.rewards);
    let count = 0;
    for (const { commission, lamports, postBalance, pubkey, rewardType } of rewards) {
      if (count++ > 0) this.text(words.comma);
      this.text(words.commission).string(`${commission}`);
      this.text(words.lamports).string(lamports).text(words.postBalance).string(postBalance);
      this.text(words.pubkey).string(pubkey).text(words.rewardType);
      this.string(rewardType === null ? 'null' : `"${rewardType}"`).text(words.closeObject);
      this.forgetStrings();
    }
    this.text(words.closeArray);
  }

  /** Returns the highest version. */
  #printTransactions(block: SimulatedBlock, options: RenderOptions): number {
    let versionMax = -1;
    if (options.transactionDetails === 'none') return versionMax;
    const words = this.#words;
    this.text(words.transactions);
    block.forEachTransaction((transaction, index) => {
      const { version } = transaction;
      if (index > 0) this.text(words.comma);
      if (version !== 'legacy') versionMax = Math.max(versionMax, version);
      this.#printFull(transaction, block.era, options.rewards);
      // The next transaction overwrites the texts of this one.
      this.flush();
    });
    this.text(words.closeArray);
    return versionMax;
  }

  #printFull(transaction: SimulatedTransaction, era: EraRules, withRewards: boolean): void {
    const words = this.#words;
    const { version } = transaction;
    this.text(words.meta);
    if (era.hasMeta) this.#printMeta(transaction, era, withRewards);
    else this.text(words.null);
    this.text(words.message);
    this.#printMessage(transaction, era);
    this.text(words.ownSignatures);
    this.#printTexts(transaction.signatures, 0, transaction.requiredSignatureCount);
    if (!era.hasVersionKey) this.text(words.closeObjects);
    else if (version === 'legacy') this.text(words.legacy);
    else this.text(version === 0 ? words.version0 : words.version1);
  }

  #printMessage(transaction: SimulatedTransaction, { topStackHeight }: EraRules): void {
    const words = this.#words;
    const { calls, version } = transaction;
    this.text(words.accountKeys);
    this.#printTexts(transaction.keys, 0, transaction.staticCount);
    if (version === 0) {
      this.text(words.lookups);
      this.#printLookups(transaction.lookups);
      this.text(words.headerAfterLookups);
    } else this.text(words.header);
    this.number(transaction.readonlySignedCount);
    this.text(words.readonlyUnsigned).number(transaction.readonlyUnsignedCount);
    this.text(words.requiredSignatures).number(transaction.requiredSignatureCount);
    this.text(words.instructions);
    let count = 0;
    for (const call of calls) {
      if (count++ > 0) this.text(words.comma);
      this.#printCall(call);
      if (topStackHeight === undefined) this.text(words.closeObject);
      else this.text(topStackHeight === '1' ? words.stackHeight1 : words.stackHeightNull);
    }
    this.text(words.recentBlockhash).string(transaction.recentBlockhash);
    if (version !== 1) this.text(words.messageEnd);
    else {
      this.text(words.config);
      this.number(calls.length * 200_000).text(words.configEnd);
    }
  }

  /** Prints a call without the closing brace, because the stack height may follow. */
  #printCall({ accounts, data, programIndex }: Call): void {
    const words = this.#words;
    this.text(words.accounts).numbers(accounts).text(words.data).base58(data);
    this.text(words.programIndex).number(programIndex);
  }

  #printLookups(lookups: readonly SimulatedLookup[]): void {
    const words = this.#words;
    let count = 0;
    for (const { accountKey, readonlyIndexes, writableIndexes } of lookups) {
      if (count++ > 0) this.text(words.comma);
      this.text(words.lookup).text(accountKey);
      this.text(words.readonlyIndexes).numbers(readonlyIndexes);
      this.text(words.writableIndexes).numbers(writableIndexes).text(words.closeArrayInObject);
    }
  }

  #printMeta(transaction: SimulatedTransaction, era: EraRules, withRewards: boolean): void {
    const words = this.#words;
    const { computeUnits, costUnits, fee, log, holdings, error: cause } = transaction;
    const error = cause === null ? words.null : this.pool.passing.add(printError(cause));
    this.text(words.openObject);
    if (era.isModern) {
      this.text(words.units).number(computeUnits);
      if (era.hasCostUnits) this.text(words.cost).number(costUnits);
      this.text(words.comma);
    }
    this.text(words.error).text(error).text(words.fee).number(fee).text(words.inner);
    if (era.hasInner) this.#printInner(transaction.calls, era.isModern);
    else this.text(words.null);
    if (era.isModern) this.#printLoaded(transaction);
    this.text(words.logs).orders(log.orders, 0, log.orderCount);
    this.text(words.postBalances).amounts(transaction.postBalances).text(words.postHoldings);
    this.#printHoldings(holdings, 'post', era);
    this.text(words.preBalances).amounts(transaction.preBalances).text(words.preHoldings);
    this.#printHoldings(holdings, 'pre', era);
    this.text(withRewards ? words.noRewards : words.status);
    if (cause === null) this.text(words.ok);
    else this.text(words.failed).text(error).text(words.closeObjects);
  }

  #printLoaded({ keys, keyCount, staticCount, loadedWritableCount }: SimulatedTransaction): void {
    const words = this.#words;
    if (keyCount === staticCount) {
      this.text(words.loadedNone);
      return;
    }
    const writableEnd = staticCount + loadedWritableCount;
    this.text(words.loaded);
    this.#printTexts(keys, writableEnd, keyCount);
    this.text(words.writable);
    this.#printTexts(keys, staticCount, writableEnd);
    this.text(words.closeObject);
  }

  #printInner(calls: readonly Call[], withHeights: boolean): void {
    const words = this.#words;
    let count = 0;
    this.text(words.openArray);
    let index = -1;
    for (const { calls: inner } of calls) {
      index++;
      if (inner.length === 0) continue;
      if (count++ > 0) this.text(words.comma);
      this.text(words.index).number(index).text(words.innerInstructions);
      this.#printCalls(inner, withHeights);
      this.text(words.closeArrayInObject);
    }
    this.text(words.closeArray);
  }

  #printCalls(calls: readonly Call[], withHeights: boolean): void {
    const words = this.#words;
    let count = 0;
    for (const call of calls) {
      if (count++ > 0) this.text(words.comma);
      this.#printCall(call);
      if (withHeights) this.text(words.stackHeight).number(call.depth);
      this.text(words.closeObject);
      if (call.calls.length === 0) continue;
      this.text(words.comma);
      this.#printCalls(call.calls, withHeights);
    }
  }

  #printHoldings(holdings: readonly Holding[], side: 'pre' | 'post', era: EraRules): void {
    // In 2020 token balances were not recorded.
    if (!era.hasInner) return;
    let count = 0;
    for (const holding of holdings) {
      const amount = side === 'pre' ? holding.pre : holding.post;
      if (amount === null) continue;
      if (count++ > 0) this.text(this.#words.comma);
      this.#printHolding(holding, amount, era.isModern);
    }
  }

  #printHolding(held: Holding, amount: AmountList, withOwner: boolean): void {
    const words = this.#words;
    const { decimals } = held;
    this.text(words.accountIndex).number(held.accountIndex).text(words.mint).text(held.mint);
    if (withOwner) {
      this.text(words.owner).text(held.owner).text(words.programId).text(held.programId);
    }
    this.text(words.amount).shown(amount, 0, false).text(words.decimals).number(decimals);
    this.text(words.float);
    this.#printDouble(amount, decimals);
    this.text(words.shown).shown(amount, decimals, false).text(words.holdingEnd);
  }

  /** Prints the amount as a node's double: 0 is printed as null, and numbers of up to 15 digits are exact. */
  #printDouble(amount: AmountList, decimals: number): void {
    const { words: memory } = this.pool;
    const low = (memory[(amount >> 2) + 1] as number) >>> 0;
    const high = (memory[(amount >> 2) + 2] as number) >>> 0;
    if (low === 0 && high === 0) this.text(this.#words.null);
    else if (high < EXACT_HIGH_END) this.shown(amount, decimals, true);
    else this.string(toDouble(high * UPPER_HALF + low, decimals));
  }

  /** Prints texts from one index to another as an array. */
  #printTexts(texts: TextList, start: number, end: number): void {
    const words = this.#words;
    if (start === end) this.text(words.nothing);
    else this.text(words.openTexts).quoted(texts, start, end).text(words.closeTexts);
  }
}

function printError({ variant, detail }: SimulatedError): string {
  return detail === null ? `"${variant}"` : `{"${variant}":${detail}}`;
}

/** Returns the nearest double of an amount in whole tokens. A whole number is printed with a decimal point. */
function toDouble(amount: number, decimals: number): string {
  const shortest = String(Number(`${amount}e-${decimals}`));
  return shortest.includes('.') || shortest.includes('e') ? shortest : `${shortest}.0`;
}
