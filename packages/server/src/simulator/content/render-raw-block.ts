/**
 * Prints a simulated block as a node answers `getBlock` with `encoding: json`: no white space, keys in alphabetical order,
 * every digit of every number. Only ASCII texts need no escaping, which is why they are pasted as they are.
 */
import { ByteSink } from './byte-sink.ts';
import type {
  Call,
  Holding,
  HoldingSide,
  SimulatedBlock,
  SimulatedError,
  SimulatedLookup,
  SimulatedReward,
  SimulatedTransaction,
} from './simulated-block.ts';

export type TransactionDetails = 'full' | 'none' | 'signatures' | 'accounts';

export interface RenderOptions {
  readonly transactionDetails: TransactionDetails;
  readonly rewards: boolean;
}

/** The UTF-8 bytes of the value of `result`. */
export function renderRawBlock(
  block: SimulatedBlock,
  options: RenderOptions,
  takeRoom: (byteCount: number) => Uint8Array = Buffer.allocUnsafeSlow,
): Uint8Array {
  const { chainBlock, era } = block;
  const height = era.hasHeight ? chainBlock.height : null;
  const time = era.hasTime ? chainBlock.blockTime : null;
  const sink = new ByteSink();
  sink.write(
    `{"blockHeight":${height},"blockTime":${time},"blockhash":"${chainBlock.blockhash}"` +
      `,"parentSlot":${chainBlock.parentSlot},"previousBlockhash":"${chainBlock.previousBlockhash}"`,
  );
  if (options.rewards) sink.write(`,"rewards":[${block.rewards.map(printReward).join(',')}]`);
  printTransactions(sink, block, options);
  sink.write('}');
  return sink.finish(takeRoom);
}

function printTransactions(sink: ByteSink, block: SimulatedBlock, options: RenderOptions): void {
  const { transactionDetails } = options;
  if (transactionDetails === 'none') return;
  sink.write(transactionDetails === 'signatures' ? ',"signatures":[' : ',"transactions":[');
  for (let index = 0; index < block.transactionCount; index++) {
    if (index > 0) sink.write(',');
    const transaction = block.transactionAt(index);
    if (transactionDetails === 'signatures') sink.write(`"${transaction.signatures[0]}"`);
    else if (transactionDetails === 'accounts')
      sink.write(printAccounts(transaction, block, options));
    else if (!transaction.log.isPlain) sink.write(printFull(transaction, block, options));
    else sink.writeAscii(printFull(transaction, block, options));
  }
  sink.write(']');
}

function printFull(
  transaction: SimulatedTransaction,
  { era }: SimulatedBlock,
  options: RenderOptions,
): string {
  const version = era.hasVersionKey ? `,"version":${printVersion(transaction.version)}` : '';
  const meta = era.hasMeta ? printMeta(transaction, era, options.rewards) : 'null';
  const message = printMessage(transaction, era.topStackHeight);
  return (
    `{"meta":${meta},"transaction":{"message":${message}` +
    `,"signatures":${printTexts(transaction.signatures)}}${version}}`
  );
}

function printVersion(version: 'legacy' | 0 | 1): string {
  return version === 'legacy' ? '"legacy"' : `${version}`;
}

function printMessage(
  transaction: SimulatedTransaction,
  topStackHeight: string | undefined,
): string {
  const { keys, staticCount, version } = transaction;
  const ownKeys = keys.length === staticCount ? keys : keys.slice(0, staticCount);
  const lookups =
    version === 0
      ? `"addressTableLookups":[${transaction.lookups.map(printLookup).join(',')}],`
      : '';
  const config =
    version === 1
      ? `,"transactionConfig":{"computeUnitLimit":${transaction.calls.length * 200_000},"heapSize":null,"loadedAccountsDataSizeLimit":null,"priorityFee":0}`
      : '';
  const height = topStackHeight === undefined ? '}' : `,"stackHeight":${topStackHeight}}`;
  let calls = '';
  for (const call of transaction.calls)
    calls += `${calls === '' ? '' : ','}${printCall(call)}${height}`;
  return (
    `{"accountKeys":${printTexts(ownKeys)},${lookups}"header":{` +
    `"numReadonlySignedAccounts":${transaction.readonlySignedCount}` +
    `,"numReadonlyUnsignedAccounts":${transaction.readonlyUnsignedCount}` +
    `,"numRequiredSignatures":${transaction.requiredSignatureCount}}` +
    `,"instructions":[${calls}],"recentBlockhash":"${transaction.recentBlockhash}"${config}}`
  );
}

/** Without the closing brace: what follows differs. */
function printCall(call: Call): string {
  return `{"accounts":[${call.accounts.join(',')}],"data":"${call.data}","programIdIndex":${call.programIndex}`;
}

function printLookup(lookup: SimulatedLookup): string {
  return (
    `{"accountKey":"${lookup.accountKey}","readonlyIndexes":[${lookup.readonlyIndexes.join(',')}]` +
    `,"writableIndexes":[${lookup.writableIndexes.join(',')}]}`
  );
}

function printMeta(
  transaction: SimulatedTransaction,
  era: SimulatedBlock['era'],
  withRewards: boolean,
): string {
  const error = transaction.error === null ? null : printError(transaction.error);
  const holdings = printHoldings(transaction.holdings, era);
  const units = era.isModern ? `"computeUnitsConsumed":${transaction.computeUnits},` : '';
  const cost = era.hasCostUnits ? `"costUnits":${printCost(transaction)},` : '';
  const loaded = era.isModern ? `"loadedAddresses":${printLoaded(transaction)},` : '';
  const inner = era.hasInner ? printInner(transaction.calls, era.isModern) : 'null';
  return (
    `{${units}${cost}"err":${error},"fee":${transaction.fee},"innerInstructions":${inner},${loaded}` +
    `"logMessages":${transaction.log.text},"postBalances":[${transaction.postBalances.join(',')}]` +
    `,"postTokenBalances":${holdings.post}` +
    `,"preBalances":[${transaction.preBalances.join(',')}],"preTokenBalances":${holdings.pre}` +
    `${withRewards ? ',"rewards":[]' : ''},"status":${error === null ? '{"Ok":null}' : `{"Err":${error}}`}}`
  );
}

function printError(error: SimulatedError): string {
  return error.detail === null ? `"${error.variant}"` : `{"${error.variant}":${error.detail}}`;
}

/** What the block's limits count: the units and a share for each signature and writable account. */
function printCost(transaction: SimulatedTransaction): string {
  if (transaction.computeUnits.length > 9) return transaction.computeUnits;
  const keys = transaction.staticCount - transaction.readonlyUnsignedCount;
  return `${Number(transaction.computeUnits) + 720 * transaction.requiredSignatureCount + 300 * keys}`;
}

function printLoaded({ keys, staticCount, loadedWritableCount }: SimulatedTransaction): string {
  if (keys.length === staticCount) return '{"readonly":[],"writable":[]}';
  const writableEnd = staticCount + loadedWritableCount;
  const writable = printTexts(keys.slice(staticCount, writableEnd));
  return `{"readonly":${printTexts(keys.slice(writableEnd))},"writable":${writable}}`;
}

function printInner(calls: readonly Call[], withHeights: boolean): string {
  let groups = '';
  for (let index = 0; index < calls.length; index++) {
    const { calls: inner } = calls[index] as Call;
    if (inner.length === 0) continue;
    const text = printCalls(inner, withHeights);
    groups += `${groups === '' ? '' : ','}{"index":${index},"instructions":[${text}]}`;
  }
  return `[${groups}]`;
}

function printCalls(calls: readonly Call[], withHeights: boolean): string {
  let text = '';
  for (const call of calls) {
    const height = withHeights ? `,"stackHeight":${call.depth}}` : '}';
    text += `${text === '' ? '' : ','}${printCall(call)}${height}`;
    if (call.calls.length > 0) text += `,${printCalls(call.calls, withHeights)}`;
  }
  return text;
}

/** Both lists at once: two sides in three are the same, and printed once. */
function printHoldings(
  holdings: readonly Holding[],
  era: SimulatedBlock['era'],
): { readonly pre: string; readonly post: string } {
  // The token balances of 2020 were not recorded.
  if (holdings.length === 0 || !era.hasInner) return { pre: '[]', post: '[]' };
  let pre = '';
  let post = '';
  for (const { accountIndex, pre: before, post: after } of holdings) {
    const text = before === null ? '' : printHolding(accountIndex, before, era.isModern);
    if (before !== null) pre += pre === '' ? text : `,${text}`;
    if (after === null) continue;
    const same = after === before ? text : printHolding(accountIndex, after, era.isModern);
    post += post === '' ? same : `,${same}`;
  }
  return { pre: `[${pre}]`, post: `[${post}]` };
}

function printHolding(accountIndex: number, held: HoldingSide, withOwner: boolean): string {
  const owner = withOwner ? `,"owner":"${held.owner}","programId":"${held.programId}"` : '';
  const text = printDecimal(held.amount, held.decimals);
  return (
    `{"accountIndex":${accountIndex},"mint":"${held.mint}"${owner}` +
    `,"uiTokenAmount":{"amount":"${held.amount}","decimals":${held.decimals}` +
    `,"uiAmount":${printFloat(text)},"uiAmountString":"${text}"}}`
  );
}

/** An amount in whole tokens: exact, without zeros at the end. */
function printDecimal(amount: string, decimals: number): string {
  if (decimals === 0 || amount === '0') return amount;
  const padded = amount.length > decimals ? amount : amount.padStart(decimals + 1, '0');
  let end = padded.length;
  const point = padded.length - decimals;
  while (end > point && padded.charCodeAt(end - 1) === 0x30) end--;
  return end === point
    ? padded.slice(0, point)
    : `${padded.slice(0, point)}.${padded.slice(point, end)}`;
}

/** The same as the node's double: up to 15 digits come back as they are, and a whole number shows its point. */
function printFloat(text: string): string {
  if (text === '0') return 'null';
  const shortest = text.length <= 15 ? text : String(Number(text));
  return shortest.includes('.') || shortest.includes('e') ? shortest : `${shortest}.0`;
}

function printReward(reward: SimulatedReward): string {
  const type = reward.rewardType === null ? 'null' : `"${reward.rewardType}"`;
  return (
    `{"commission":${reward.commission},"lamports":${reward.lamports}` +
    `,"postBalance":${reward.postBalance},"pubkey":"${reward.pubkey}","rewardType":${type}}`
  );
}

function printTexts(texts: readonly string[]): string {
  return texts.length === 0 ? '[]' : `["${texts.join('","')}"]`;
}

/** The short form of a transaction: its accounts, without what it did. */
function printAccounts(
  transaction: SimulatedTransaction,
  { era }: SimulatedBlock,
  options: RenderOptions,
): string {
  const version = era.hasVersionKey ? `,"version":${printVersion(transaction.version)}` : '';
  const meta = era.hasMeta ? printShortMeta(transaction, era, options.rewards) : 'null';
  const keys = transaction.keys.map((key, index) => {
    const source = index < transaction.staticCount ? 'transaction' : 'lookupTable';
    const isSigner = index < transaction.requiredSignatureCount;
    return `{"pubkey":"${key}","signer":${isSigner},"source":"${source}","writable":${isWritable(transaction, index)}}`;
  });
  return (
    `{"meta":${meta},"transaction":{"accountKeys":[${keys.join(',')}]` +
    `,"signatures":${printTexts(transaction.signatures)}}${version}}`
  );
}

function isWritable(transaction: SimulatedTransaction, index: number): boolean {
  const { requiredSignatureCount, readonlySignedCount, staticCount } = transaction;
  if (index < requiredSignatureCount) return index < requiredSignatureCount - readonlySignedCount;
  if (index < staticCount) return index < staticCount - transaction.readonlyUnsignedCount;
  return index < staticCount + transaction.loadedWritableCount;
}

function printShortMeta(
  transaction: SimulatedTransaction,
  era: SimulatedBlock['era'],
  withRewards: boolean,
): string {
  const error = transaction.error === null ? null : printError(transaction.error);
  const holdings = printHoldings(transaction.holdings, era);
  return (
    `{"err":${error},"fee":${transaction.fee},"postBalances":[${transaction.postBalances.join(',')}]` +
    `,"postTokenBalances":${holdings.post}` +
    `,"preBalances":[${transaction.preBalances.join(',')}],"preTokenBalances":${holdings.pre}` +
    `${withRewards ? ',"rewards":[]' : ''},"status":${error === null ? '{"Ok":null}' : `{"Err":${error}}`}}`
  );
}
