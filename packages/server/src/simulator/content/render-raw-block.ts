/**
 * Prints a simulated block as a node answers `getBlock` with `encoding: json`: no white space, keys in alphabetical order,
 * every digit of every number. Only ASCII texts need no escaping, which is why they are pasted as they are.
 */
import type { EraRules } from './eras.ts';
import { JsonPrinter } from './json-printer.ts';
import { type JsonWords, poolJsonWords } from './json-words.ts';
import type {
  Call,
  Holding,
  SimulatedBlock,
  SimulatedError,
  SimulatedLookup,
  SimulatedReward,
  SimulatedTransaction,
} from './simulated-block.ts';
import type { AmountList, PooledText, TextList, TextPool } from './text-pool.ts';

export type TransactionDetails = 'full' | 'none' | 'signatures' | 'accounts';

export interface RenderOptions {
  readonly transactionDetails: TransactionDetails;
  readonly rewards: boolean;
}

const UPPER_HALF = 4_294_967_296;
/** Amounts below this times 2^32 have 15 digits at most. */
const EXACT_HIGH_END = Math.floor(1e15 / UPPER_HALF);

const printers = new WeakMap<TextPool, BlockPrinter>();

export interface RenderedContent {
  /** The UTF-8 bytes of the value of `result`. */
  readonly json: Uint8Array;
  /** The highest version among the transactions that were printed; -1 if all are legacy. */
  readonly versionMax: number;
}

export function renderRawBlock(
  block: SimulatedBlock,
  options: RenderOptions,
  allocate: (byteCount: number) => Uint8Array = Buffer.allocUnsafeSlow,
): RenderedContent {
  let printer = printers.get(block.texts);
  if (printer === undefined) {
    printer = new BlockPrinter(block.texts);
    printers.set(block.texts, printer);
  }
  return printer.print(block, options, allocate);
}

class BlockPrinter {
  readonly #out: JsonPrinter;
  readonly #words: JsonWords;

  constructor(pool: TextPool) {
    this.#out = new JsonPrinter(pool);
    this.#words = poolJsonWords(pool);
  }

  print(
    block: SimulatedBlock,
    options: RenderOptions,
    allocate: (byteCount: number) => Uint8Array,
  ): RenderedContent {
    const { chainBlock, era } = block;
    const out = this.#out;
    const height = era.hasHeight ? chainBlock.height : null;
    const time = era.hasTime ? chainBlock.blockTime : null;
    out.begin();
    out.string(
      `{"blockHeight":${height},"blockTime":${time},"blockhash":"${chainBlock.blockhash}"` +
        `,"parentSlot":${chainBlock.parentSlot},"previousBlockhash":"${chainBlock.previousBlockhash}"`,
    );
    out.forgetStrings();
    // The rewards share out the fees of the transactions, so they are printed after them and moved to their place.
    const to = out.position();
    const versionMax = this.#printTransactions(block, options);
    out.text(this.#words.closeObject);
    const from = out.position();
    if (options.rewards) this.#printRewards(block.rewards());
    return { json: out.finish(allocate, { to, from }), versionMax };
  }

  #printRewards(rewards: readonly SimulatedReward[]): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.rewards);
    for (let i = 0; i < rewards.length; i++) {
      if (i > 0) out.text(words.comma);
      this.#printReward(rewards[i] as SimulatedReward);
      out.forgetStrings();
    }
    out.text(words.closeArray);
  }

  #printReward(reward: SimulatedReward): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.commission);
    out.string(`${reward.commission}`);
    out.text(words.lamports);
    out.string(reward.lamports);
    out.text(words.postBalance);
    out.string(reward.postBalance);
    out.text(words.pubkey);
    out.string(reward.pubkey);
    out.text(words.rewardType);
    out.string(reward.rewardType === null ? 'null' : `"${reward.rewardType}"`);
    out.text(words.closeObject);
  }

  /** Returns the highest version. */
  #printTransactions(block: SimulatedBlock, options: RenderOptions): number {
    const { transactionDetails } = options;
    let versionMax = -1;
    if (transactionDetails === 'none') return versionMax;
    const out = this.#out;
    const words = this.#words;
    out.text(transactionDetails === 'signatures' ? words.signatures : words.transactions);
    block.forEachTransaction((transaction, index) => {
      if (index > 0) out.text(words.comma);
      const { version } = transaction;
      if (version !== 'legacy') versionMax = Math.max(versionMax, version);
      if (transactionDetails === 'signatures') this.#printSignature(transaction);
      else if (transactionDetails === 'accounts') this.#printAccounts(transaction, block, options);
      else this.#printFull(transaction, block, options);
      // The next transaction takes the place of this one's texts.
      out.flush();
    });
    out.text(words.closeArray);
    return versionMax;
  }

  #printSignature({ signatures }: SimulatedTransaction): void {
    this.#out.text(this.#words.quote);
    this.#out.quoted(signatures, 0, 1);
    this.#out.text(this.#words.quote);
  }

  #printFull(
    transaction: SimulatedTransaction,
    { era }: SimulatedBlock,
    options: RenderOptions,
  ): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.meta);
    if (era.hasMeta) this.#printMeta(transaction, era, options.rewards);
    else out.text(words.null);
    out.text(words.message);
    this.#printMessage(transaction, era.topStackHeight);
    out.text(words.ownSignatures);
    this.#printTexts(transaction.signatures, 0, transaction.requiredSignatureCount);
    this.#printVersion(transaction, era);
  }

  #printVersion({ version }: SimulatedTransaction, era: EraRules): void {
    const words = this.#words;
    if (!era.hasVersionKey) this.#out.text(words.unversioned);
    else if (version === 'legacy') this.#out.text(words.legacy);
    else this.#out.text(version === 0 ? words.version0 : words.version1);
  }

  #printMessage(
    transaction: SimulatedTransaction,
    topStackHeight: EraRules['topStackHeight'],
  ): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.accountKeys);
    this.#printTexts(transaction.keys, 0, transaction.staticCount);
    if (transaction.version === 0) {
      out.text(words.lookups);
      this.#printLookups(transaction.lookups);
      out.text(words.headerAfterLookups);
    } else out.text(words.header);
    out.number(transaction.readonlySignedCount);
    out.text(words.readonlyUnsigned);
    out.number(transaction.readonlyUnsignedCount);
    out.text(words.requiredSignatures);
    out.number(transaction.requiredSignatureCount);
    out.text(words.instructions);
    const { calls } = transaction;
    for (let i = 0; i < calls.length; i++) {
      if (i > 0) out.text(words.comma);
      this.#printCall(calls[i] as Call);
      if (topStackHeight === undefined) out.text(words.closeObject);
      else out.text(topStackHeight === '1' ? words.stackHeight1 : words.stackHeightNull);
    }
    out.text(words.recentBlockhash);
    out.string(transaction.recentBlockhash);
    if (transaction.version === 1) {
      out.text(words.config);
      out.number(calls.length * 200_000);
      out.text(words.configEnd);
    } else out.text(words.messageEnd);
  }

  /** Without the closing brace: what follows differs. */
  #printCall(call: Call): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.accounts);
    out.numbers(call.accounts);
    out.text(words.data);
    out.base58(call.data);
    out.text(words.programIndex);
    out.number(call.programIndex);
  }

  #printLookups(lookups: readonly SimulatedLookup[]): void {
    const out = this.#out;
    const words = this.#words;
    for (let i = 0; i < lookups.length; i++) {
      const { accountKey, readonlyIndexes, writableIndexes } = lookups[i] as SimulatedLookup;
      if (i > 0) out.text(words.comma);
      out.text(words.lookup);
      out.text(accountKey);
      out.text(words.readonlyIndexes);
      out.numbers(readonlyIndexes);
      out.text(words.writableIndexes);
      out.numbers(writableIndexes);
      out.text(words.lookupEnd);
    }
  }

  #printMeta(transaction: SimulatedTransaction, era: EraRules, withRewards: boolean): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.openObject);
    if (era.isModern) {
      out.text(words.units);
      out.number(transaction.computeUnits);
      if (era.hasCostUnits) {
        out.text(words.cost);
        out.number(transaction.costUnits);
      }
      out.text(words.comma);
    }
    const error = this.#printErrorAndFee(transaction);
    out.text(words.inner);
    if (era.hasInner) this.#printInner(transaction.calls, era.isModern);
    else out.text(words.null);
    if (era.isModern) this.#printLoaded(transaction);
    out.text(words.logs);
    out.orders(transaction.log.orders, 0, transaction.log.orderCount);
    this.#printBalances(transaction, era);
    this.#printStatus(error, withRewards);
  }

  /** Returns the error as printed, since it is printed again at the end. */
  #printErrorAndFee({ error, fee }: SimulatedTransaction): PooledText | null {
    const out = this.#out;
    const words = this.#words;
    const text = error === null ? null : out.pool.passing.add(printError(error));
    out.text(words.error);
    out.text(text ?? words.null);
    out.text(words.fee);
    out.number(fee);
    return text;
  }

  #printLoaded({ keys, keyCount, staticCount, loadedWritableCount }: SimulatedTransaction): void {
    const out = this.#out;
    const words = this.#words;
    if (keyCount === staticCount) {
      out.text(words.loadedNone);
      return;
    }
    const writableEnd = staticCount + loadedWritableCount;
    out.text(words.loaded);
    this.#printTexts(keys, writableEnd, keyCount);
    out.text(words.writable);
    this.#printTexts(keys, staticCount, writableEnd);
    out.text(words.closeObject);
  }

  #printInner(calls: readonly Call[], withHeights: boolean): void {
    const out = this.#out;
    const words = this.#words;
    let isFirst = true;
    out.text(words.openArray);
    for (let index = 0; index < calls.length; index++) {
      const { calls: inner } = calls[index] as Call;
      if (inner.length === 0) continue;
      if (!isFirst) out.text(words.comma);
      isFirst = false;
      out.text(words.index);
      out.number(index);
      out.text(words.innerInstructions);
      this.#printCalls(inner, withHeights);
      out.text(words.indexEnd);
    }
    out.text(words.closeArray);
  }

  #printCalls(calls: readonly Call[], withHeights: boolean): void {
    const out = this.#out;
    const words = this.#words;
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as Call;
      if (i > 0) out.text(words.comma);
      this.#printCall(call);
      if (withHeights) {
        out.text(words.stackHeight);
        out.number(call.depth);
      }
      out.text(words.closeObject);
      if (call.calls.length === 0) continue;
      out.text(words.comma);
      this.#printCalls(call.calls, withHeights);
    }
  }

  #printBalances(transaction: SimulatedTransaction, era: EraRules): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.postBalances);
    out.amounts(transaction.postBalances);
    out.text(words.postHoldings);
    this.#printHoldings(transaction.holdings, 'post', era);
    out.text(words.preBalances);
    out.amounts(transaction.preBalances);
    out.text(words.preHoldings);
    this.#printHoldings(transaction.holdings, 'pre', era);
  }

  /** From the end of the token balances on. */
  #printStatus(error: PooledText | null, withRewards: boolean): void {
    const out = this.#out;
    const words = this.#words;
    out.text(withRewards ? words.noRewards : words.status);
    if (error === null) {
      out.text(words.ok);
      return;
    }
    out.text(words.failed);
    out.text(error);
    out.text(words.failedEnd);
  }

  #printHoldings(holdings: readonly Holding[], side: 'pre' | 'post', era: EraRules): void {
    // The token balances of 2020 were not recorded.
    if (!era.hasInner) return;
    let isFirst = true;
    for (let i = 0; i < holdings.length; i++) {
      const holding = holdings[i] as Holding;
      const amount = side === 'pre' ? holding.pre : holding.post;
      if (amount === null) continue;
      if (!isFirst) this.#out.text(this.#words.comma);
      isFirst = false;
      this.#printHolding(holding, amount, era.isModern);
    }
  }

  #printHolding(held: Holding, amount: AmountList, withOwner: boolean): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.accountIndex);
    out.number(held.accountIndex);
    out.text(words.mint);
    out.text(held.mint);
    if (withOwner) {
      out.text(words.owner);
      out.text(held.owner);
      out.text(words.programId);
      out.text(held.programId);
    }
    out.text(words.amount);
    out.shown(amount, 0, false);
    out.text(words.decimals);
    out.number(held.decimals);
    out.text(words.float);
    this.#printDouble(amount, held.decimals);
    out.text(words.shown);
    out.shown(amount, held.decimals, false);
    out.text(words.holdingEnd);
  }

  /** The amount as a node's double: nothing is null, and up to 15 digits come back from a double as they went in. */
  #printDouble(amount: AmountList, decimals: number): void {
    const { words: memory } = this.#out.pool;
    const low = (memory[(amount >> 2) + 1] as number) >>> 0;
    const high = (memory[(amount >> 2) + 2] as number) >>> 0;
    if (low === 0 && high === 0) this.#out.text(this.#words.null);
    else if (high < EXACT_HIGH_END) this.#out.shown(amount, decimals, true);
    else this.#out.string(toDouble(high * UPPER_HALF + low, decimals));
  }

  /** Texts from one place to another, as an array. */
  #printTexts(texts: TextList, start: number, end: number): void {
    const out = this.#out;
    const words = this.#words;
    if (start === end) {
      out.text(words.nothing);
      return;
    }
    out.text(words.openTexts);
    out.quoted(texts, start, end);
    out.text(words.closeTexts);
  }

  /** The short form of a transaction: its accounts, without what it did. */
  #printAccounts(
    transaction: SimulatedTransaction,
    { era }: SimulatedBlock,
    options: RenderOptions,
  ): void {
    const out = this.#out;
    const words = this.#words;
    out.text(words.meta);
    if (era.hasMeta) this.#printShortMeta(transaction, era, options.rewards);
    else out.text(words.null);
    out.text(words.shortKeys);
    for (let index = 0; index < transaction.keyCount; index++) {
      if (index > 0) out.text(words.comma);
      out.text(words.key);
      out.quoted(transaction.keys, index, index + 1);
      out.text(index < transaction.requiredSignatureCount ? words.signer : words.noSigner);
      out.text(index < transaction.staticCount ? words.own : words.fromTable);
      out.text(isWritable(transaction, index) ? words.yes : words.no);
    }
    out.text(words.shortKeysEnd);
    out.text(words.ownSignatures);
    this.#printTexts(transaction.signatures, 0, transaction.requiredSignatureCount);
    this.#printVersion(transaction, era);
  }

  #printShortMeta(transaction: SimulatedTransaction, era: EraRules, withRewards: boolean): void {
    this.#out.text(this.#words.openObject);
    const error = this.#printErrorAndFee(transaction);
    this.#printBalances(transaction, era);
    this.#printStatus(error, withRewards);
  }
}

function printError(error: SimulatedError): string {
  return error.detail === null ? `"${error.variant}"` : `{"${error.variant}":${error.detail}}`;
}

/** The nearest double of an amount in whole tokens; a whole number shows its point. */
function toDouble(amount: number, decimals: number): string {
  const shortest = String(Number(`${amount}e-${decimals}`));
  return shortest.includes('.') || shortest.includes('e') ? shortest : `${shortest}.0`;
}

function isWritable(transaction: SimulatedTransaction, index: number): boolean {
  const { requiredSignatureCount, readonlySignedCount, staticCount } = transaction;
  if (index < requiredSignatureCount) return index < requiredSignatureCount - readonlySignedCount;
  if (index < staticCount) return index < staticCount - transaction.readonlyUnsignedCount;
  return index < staticCount + transaction.loadedWritableCount;
}
