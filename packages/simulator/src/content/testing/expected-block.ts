/**
 * The expected records of a simulated block, derived from its events and never from its JSON. A normalizer must produce the same records
 * from the JSON. If an era did not record something, the records have what can still be determined.
 */
import type {
  Balance,
  Block,
  Instruction,
  Log,
  Reward,
  TokenBalance,
  Transaction,
} from '../../../../ledger/src/block.ts';
import { type Address, toBlockHash, toSlot } from '../../../../ledger/src/primitives.ts';
import { neutralRecord } from '../../../../ledger/src/testing/stored-fields.ts';
import type { EraRules } from '../eras.ts';
import type {
  Call,
  Holding,
  SimulatedBlock,
  SimulatedReward,
  SimulatedTransaction,
} from '../simulated-block.ts';
import type { AmountList, TextPool } from '../text/text-pool.ts';
import { buildInstructionAddresses } from './instruction-addresses.ts';
import { type Observed, observeLog } from './observe-log.ts';
import {
  mintAddress,
  mintSignature,
  readAmounts,
  readBase58,
  readList,
  readNumbers,
} from './read-pool.ts';
import { joinSides, NO_SIDE, type TokenSide } from './token-sides.ts';

const VOTE_ID = 'Vote111111111111111111111111111111111111111';

interface Records {
  readonly transactions: Transaction[];
  readonly instructions: Instruction[];
  readonly logs: Log[];
  readonly balances: Balance[];
  readonly tokenBalances: TokenBalance[];
}

export function expectedBlock(
  block: SimulatedBlock,
  options: { readonly votes: 'drop' | 'keep' },
): Block {
  const records: Records = {
    transactions: [],
    instructions: [],
    logs: [],
    balances: [],
    tokenBalances: [],
  };
  block.forEachTransaction((transaction, index) => {
    const keys = readList(block.texts, transaction.keys).map(mintAddress);
    if (options.votes === 'drop' && isVote(transaction, keys)) return;
    addTransaction({ transaction, transactionIndex: index, keys, ...block }, records);
  });
  const rewards = block.rewards().map(expectReward);
  rewards.sort(compareRewards);
  return { header: expectHeader(block), ...records, rewards };
}

function expectHeader({ chainBlock, era }: SimulatedBlock): Block['header'] {
  const { slot } = chainBlock;
  const unknownHeight = slot === 0 ? 0 : null;
  return {
    number: toSlot(slot),
    hash: toBlockHash(chainBlock.blockhash),
    parentSlot: toSlot(chainBlock.parentSlot),
    parentHash: slot === 0 ? null : toBlockHash(chainBlock.previousBlockhash),
    height: era.hasHeight ? chainBlock.height : unknownHeight,
    timestamp: era.hasTime ? BigInt(chainBlock.blockTime) : null,
  };
}

function isVote({ calls }: SimulatedTransaction, keys: readonly string[]): boolean {
  return calls.length === 1 && keys[calls[0]?.programIndex ?? 0] === VOTE_ID;
}

interface Context {
  readonly transaction: SimulatedTransaction;
  readonly transactionIndex: number;
  /** The keys of the transaction as texts. */
  readonly keys: readonly Address[];
  readonly era: EraRules;
  readonly texts: TextPool;
}

function addTransaction(context: Context, records: Records): void {
  const { transaction, transactionIndex, keys, era, texts } = context;
  const observed = observeLog(transaction, keys, context);
  const programOf = (call: Call): Address => keys[call.programIndex] as Address;
  records.transactions.push(expectTransaction(context, observed));
  const addresses = buildInstructionAddresses(transaction.calls, era, observed);
  for (const [call, instructionAddress] of addresses) {
    records.instructions.push({
      ...neutralRecord('instruction'),
      transactionIndex,
      instructionAddress,
      programId: programOf(call),
      accounts: readNumbers(texts, call.accounts).map((index) => keys[index] as Address),
      data: readBase58(texts, call.data),
      error: observed.errors.get(call) ?? null,
      computeUnitsConsumed: observed.units.get(call) ?? null,
      isCommitted: era.hasMeta ? transaction.error === null : null,
      hasDroppedLogMessages: observed.dropped.has(call),
    });
  }
  for (const log of observed.logs) {
    records.logs.push({
      ...neutralRecord('log'),
      transactionIndex,
      logIndex: log.logIndex,
      instructionAddress: addresses.get(log.call) as readonly number[],
      programId: programOf(log.call),
      kind: log.kind,
      message: log.message,
    });
  }
  if (!era.hasMeta) return;
  records.balances.push(...expectBalances(context));
  if (era.hasInner) records.tokenBalances.push(...expectHoldings(context));
}

function expectTransaction(context: Context, observed: Observed): Transaction {
  const { transaction, transactionIndex, keys, era, texts } = context;
  const { staticCount, loadedWritableCount, version, error } = transaction;
  const writableEnd = staticCount + loadedWritableCount;
  const err = error === null ? null : `{"${error.variant}":${error.detail}}`;
  return {
    ...neutralRecord('transaction'),
    transactionIndex,
    version: version === 'legacy' ? -1 : version,
    accountKeys: keys.slice(0, staticCount),
    addressTableLookups: transaction.lookups.map((lookup) => ({
      accountKey: mintAddress(texts.read(lookup.accountKey)),
      writableIndexes: readNumbers(texts, lookup.writableIndexes),
      readonlyIndexes: readNumbers(texts, lookup.readonlyIndexes),
    })),
    numReadonlySignedAccounts: transaction.readonlySignedCount,
    numReadonlyUnsignedAccounts: transaction.readonlyUnsignedCount,
    numRequiredSignatures: transaction.requiredSignatureCount,
    recentBlockhash: transaction.recentBlockhash,
    signatures: readList(texts, transaction.signatures).map(mintSignature),
    err: era.hasMeta ? err : null,
    fee: era.hasMeta ? BigInt(transaction.fee) : null,
    computeUnitsConsumed: era.hasMeta && era.isModern ? BigInt(transaction.computeUnits) : null,
    loadedAddresses: {
      writable: keys.slice(staticCount, writableEnd),
      readonly: keys.slice(writableEnd),
    },
    hasDroppedLogMessages: observed.isIncomplete,
  };
}

function expectBalances({ transaction, transactionIndex, keys, texts }: Context): Balance[] {
  const balances: Balance[] = [];
  const pres = readAmounts(texts, transaction.preBalances);
  const posts = readAmounts(texts, transaction.postBalances);
  keys.forEach((account, index) => {
    const pre = pres[index] as bigint;
    const post = posts[index] as bigint;
    if (pre !== post)
      balances.push({ ...neutralRecord('balance'), transactionIndex, account, pre, post });
  });
  return balances.sort((a, b) => compareTexts(a.account, b.account));
}

function expectHoldings(context: Context): TokenBalance[] {
  const { transaction, transactionIndex, keys } = context;
  const balances = transaction.holdings.map((holding) => {
    const account = keys[holding.accountIndex] as Address;
    const pre = expectSide(holding, holding.pre, context);
    const post = expectSide(holding, holding.post, context);
    return { ...neutralRecord('tokenBalance'), transactionIndex, account, ...joinSides(pre, post) };
  });
  return balances.sort((a, b) => compareTexts(a.account, b.account));
}

function expectSide(
  held: Holding,
  amount: AmountList | null,
  { era, texts }: Context,
): TokenSide<Address> {
  if (amount === null) return NO_SIDE;
  return {
    mint: mintAddress(texts.read(held.mint)),
    decimals: held.decimals,
    programId: era.isModern ? mintAddress(texts.read(held.programId)) : null,
    owner: era.isModern ? mintAddress(texts.read(held.owner)) : null,
    amount: readAmounts(texts, amount)[0] as bigint,
  };
}

function expectReward(reward: SimulatedReward): Reward {
  return {
    ...neutralRecord('reward'),
    pubKey: mintAddress(reward.pubkey),
    lamports: BigInt(reward.lamports),
    postBalance: BigInt(reward.postBalance),
    rewardType: reward.rewardType,
    commission: reward.commission,
  };
}

function compareRewards(a: Reward, b: Reward): number {
  return (
    compareTexts(a.pubKey, b.pubKey) ||
    compareTexts(a.rewardType ?? '', b.rewardType ?? '') ||
    compareBigints(a.lamports, b.lamports) ||
    compareBigints(a.postBalance, b.postBalance)
  );
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
