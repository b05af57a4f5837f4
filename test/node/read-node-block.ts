/**
 * Reads a block of a node independently of the service and returns it in the format of the service's lines: it is
 * requested in another encoding, decoded by a library, and mapped without the code of the service.
 */

import { fieldRows, type RecordKind } from '@sluice/protocol/field-table';
import {
  type Address,
  type CompiledTransactionMessage,
  getBase58Decoder,
  getBase58Encoder,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit';
import type { NodeRpc } from './node-rpc.ts';
import type { Exact } from './parse-exact.ts';
import { type LoggedCall, type ReadLog, readLog } from './read-log.ts';

export type Votes = 'drop' | 'keep';
type Line = { readonly [key: string]: Exact };

export interface BlockLine {
  readonly header: { height: bigint | null; readonly [key: string]: Exact };
  readonly [kind: string]: Exact;
}

interface RawBlock {
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly parentSlot: bigint;
  readonly blockHeight: bigint | null;
  readonly blockTime: bigint | null;
  readonly transactions: readonly RawTransaction[];
  readonly rewards: readonly RawReward[];
}

interface RawTransaction {
  readonly transaction: readonly [string, 'base64'];
  readonly meta: Omit<RawMeta, NullableKey> & {
    readonly [Key in NullableKey]: RawMeta[Key] | null;
  };
}

type NullableKey = 'innerInstructions' | 'logMessages';

interface RawMeta {
  readonly err: string | { readonly [key: string]: Exact } | null;
  readonly fee: bigint;
  readonly computeUnitsConsumed: bigint;
  readonly preBalances: readonly bigint[];
  readonly postBalances: readonly bigint[];
  readonly preTokenBalances: readonly RawTokenBalance[];
  readonly postTokenBalances: readonly RawTokenBalance[];
  readonly innerInstructions: readonly {
    readonly index: bigint;
    readonly instructions: readonly RawInner[];
  }[];
  readonly logMessages: readonly string[];
  readonly loadedAddresses: { readonly writable: string[]; readonly readonly: string[] };
}

interface RawInner {
  readonly programIdIndex: bigint;
  readonly accounts: readonly bigint[];
  readonly data: string;
  readonly stackHeight: bigint;
}

interface RawTokenBalance {
  readonly accountIndex: bigint;
  readonly mint: string;
  readonly owner: string;
  readonly programId: string;
  readonly uiTokenAmount: { readonly amount: string; readonly decimals: bigint };
}

interface RawReward {
  readonly pubkey: string;
  readonly lamports: bigint;
  readonly postBalance: bigint;
  readonly rewardType: string | null;
  readonly commission: bigint | null;
}

type Message = CompiledTransactionMessage & { readonly lifetimeToken: string };

const VOTE_PROGRAM = 'Vote111111111111111111111111111111111111111';
/** Programs that may run without log lines. */
const SILENT_PROGRAMS: ReadonlySet<string> = new Set([
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'AddressLookupTab1e1111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'NativeLoader1111111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
]);

/** Returns the line with all records of a block. */
export async function readNodeBlock(rpc: NodeRpc, slot: bigint, votes: Votes): Promise<BlockLine> {
  const block = await rpc.call<RawBlock>('getBlock', [
    Number(slot),
    {
      commitment: 'finalized',
      encoding: 'base64',
      transactionDetails: 'full',
      maxSupportedTransactionVersion: 1,
      rewards: true,
    },
  ]);
  const perTransaction = block.transactions
    .map((transaction, i) => readTransaction(transaction, BigInt(i)))
    .filter(({ isVote }) => votes === 'keep' || !isVote);
  const records: { [kind: string]: readonly Exact[] } = {
    transactions: perTransaction.map(({ transaction }) => transaction),
    instructions: perTransaction.flatMap(({ instructions }) => instructions),
    logs: perTransaction.flatMap(({ logs }) => logs),
    balances: perTransaction.flatMap(({ balances }) => balances),
    tokenBalances: perTransaction.flatMap(({ tokenBalances }) => tokenBalances),
    rewards: readRewards(block.rewards),
  };
  const kinds = Object.entries(records);
  return {
    header: {
      number: slot,
      hash: block.blockhash,
      parentSlot: block.parentSlot,
      parentNumber: block.parentSlot,
      parentHash: slot === 0n ? null : block.previousBlockhash,
      height: block.blockHeight,
      timestamp: block.blockTime,
      recordCounts: Object.fromEntries(kinds.map(([kind, of]) => [kind, BigInt(of.length)])),
    },
    ...Object.fromEntries(kinds.filter(([, of]) => of.length > 0)),
  };
}

/** Returns null for every stored field. Fields that this file reads replace them. */
function unread(kind: RecordKind): Line {
  const stored = fieldRows(kind).filter(([, row]) => row.derived !== true);
  return Object.fromEntries(stored.map(([name]) => [name, null]));
}

/** Replaces the fields that are null for a transaction that executed nothing by empty lists. */
function withoutNulls(meta: RawTransaction['meta']): RawMeta {
  const { innerInstructions, logMessages } = meta;
  return { ...meta, innerInstructions: innerInstructions ?? [], logMessages: logMessages ?? [] };
}

function readTransaction({ transaction: [wire], meta: raw }: RawTransaction, index: bigint) {
  const meta = withoutNulls(raw);
  const decoded = getTransactionDecoder().decode(getBase64Encoder().encode(wire));
  const message = getCompiledTransactionMessageDecoder().decode(decoded.messageBytes) as Message;
  const { writable, readonly } = meta.loadedAddresses;
  const keys: readonly string[] = [...message.staticAccounts, ...writable, ...readonly];
  const calls = readCalls(message, meta, keys);
  const log = readLog(calls, meta.logMessages);
  const top = calls.filter(({ height }) => height === 1);
  const transactionIndex = index;
  return {
    isVote: top.length === 1 && top[0]?.program === VOTE_PROGRAM,
    transaction: {
      ...unread('transaction'),
      transactionIndex,
      ...readMessage(message),
      signatures: Object.values(decoded.signatures).map((bytes) => toBase58(bytes)),
      err: typeof meta.err === 'string' ? { [meta.err]: null } : meta.err,
      fee: meta.fee,
      computeUnitsConsumed: meta.computeUnitsConsumed,
      loadedAddresses: meta.loadedAddresses,
      hasDroppedLogMessages: isLogMissing(calls, log, meta.logMessages),
    },
    instructions: calls.map((call) => ({
      ...unread('instruction'),
      transactionIndex,
      ...readInstruction(call, log),
      isCommitted: meta.err === null,
    })),
    logs: log.lines.map(({ logIndex, call, kind, message: text }) => ({
      ...unread('log'),
      transactionIndex,
      logIndex,
      instructionAddress: call.path,
      programId: call.program,
      kind,
      message: text,
    })),
    balances: readBalances(meta, keys).map((balance) => ({
      ...unread('balance'),
      transactionIndex,
      ...balance,
    })),
    tokenBalances: readTokenBalances(meta, keys).map((balance) => ({
      ...unread('tokenBalance'),
      transactionIndex,
      ...balance,
    })),
  };
}

function readMessage(message: Message): Line {
  const lookups = ('addressTableLookups' in message && message.addressTableLookups) || [];
  const { header } = message;
  return {
    version: message.version === 'legacy' ? -1n : BigInt(message.version),
    accountKeys: message.staticAccounts,
    addressTableLookups: lookups.map((lookup) => ({
      accountKey: lookup.lookupTableAddress,
      readonlyIndexes: lookup.readonlyIndexes.map(BigInt),
      writableIndexes: lookup.writableIndexes.map(BigInt),
    })),
    numReadonlySignedAccounts: BigInt(header.numReadonlySignerAccounts),
    numReadonlyUnsignedAccounts: BigInt(header.numReadonlyNonSignerAccounts),
    numRequiredSignatures: BigInt(header.numSignerAccounts),
    recentBlockhash: message.lifetimeToken,
    feePayer: message.staticAccounts[0] as Address,
  };
}

interface Call extends LoggedCall {
  readonly accounts: readonly string[];
  readonly data: string;
}

/** Returns all calls in execution order. Inner instructions are numbered within their caller. */
function readCalls(message: Message, meta: RawMeta, keys: readonly string[]): Call[] {
  const key = (index: bigint | number): string => keys[Number(index)] as string;
  const ranCount = countRan(meta);
  return readTopCalls(message).flatMap(({ programIndex, accountIndexes, data }, i) => {
    const ran = BigInt(i) < ranCount;
    const accounts = accountIndexes.map(key);
    const path = [BigInt(i)];
    const top: Call = { program: key(programIndex), height: 1, path, ran, accounts, data };
    const callers: { readonly path: readonly bigint[]; calls: bigint }[] = [
      { path: top.path, calls: 0n },
    ];
    const inner = meta.innerInstructions.filter(({ index }) => index === BigInt(i));
    const below = inner.flatMap(({ instructions }) =>
      instructions.map((raw): Call => {
        const height = Number(raw.stackHeight);
        const caller = callers[height - 2];
        if (caller === undefined) throw new Error('an inner instruction has no caller');
        const path = [...caller.path, caller.calls++];
        callers.splice(height - 1, callers.length, { path, calls: 0n });
        const accounts = raw.accounts.map(key);
        return { program: key(raw.programIdIndex), height, path, ran, accounts, data: raw.data };
      }),
    );
    return [top, ...below];
  });
}

function readTopCalls(message: Message) {
  if (message.version === 1) {
    return message.instructionHeaders.map(({ programAccountIndex }, i) => {
      const payload = message.instructionPayloads[i];
      return {
        programIndex: programAccountIndex,
        accountIndexes: payload?.instructionAccountIndices ?? [],
        data: toBase58(payload?.instructionData),
      };
    });
  }
  return message.instructions.map((instruction) => ({
    programIndex: instruction.programAddressIndex,
    accountIndexes: instruction.accountIndices ?? [],
    data: toBase58(instruction.data),
  }));
}

/** Returns how many top-level instructions were executed, including a failing one. */
function countRan({ err, logMessages, innerInstructions }: RawMeta): bigint {
  const all = 2n ** 64n;
  if (err === null) return all;
  if (typeof err === 'object' && 'InstructionError' in err) {
    return (err['InstructionError'] as readonly [bigint])[0] + 1n;
  }
  return logMessages.length === 0 && innerInstructions.length === 0 ? 0n : all;
}

function isLogMissing(
  calls: readonly LoggedCall[],
  { isCut }: ReadLog,
  log: readonly string[],
): boolean {
  const isLoud = ({ ran, program }: LoggedCall) => ran && !SILENT_PROGRAMS.has(program);
  return isCut || (log.length === 0 && calls.some(isLoud));
}

function readInstruction(call: Call, log: ReadLog): Line {
  const read = log.calls.get(call);
  const bytes = Buffer.from(getBase58Encoder().encode(call.data) as Uint8Array);
  const first = (count: number): string | null =>
    bytes.length < count ? null : `0x${bytes.toString('hex', 0, count)}`;
  return {
    instructionAddress: call.path,
    programId: call.program,
    accounts: call.accounts,
    data: call.data,
    d1: first(1),
    d2: first(2),
    d4: first(4),
    d8: first(8),
    error: read?.error ?? null,
    computeUnitsConsumed: read?.units ?? null,
    hasDroppedLogMessages: call.ran && !read?.isClosed,
  };
}

function readBalances(meta: RawMeta, keys: readonly string[]): { account: string }[] {
  return keys
    .map((account, i) => ({ account, pre: meta.preBalances[i], post: meta.postBalances[i] }))
    .filter(({ pre, post }) => pre !== post)
    .sort(byAccount);
}

function readTokenBalances(meta: RawMeta, keys: readonly string[]): { account: string }[] {
  const before = new Map(meta.preTokenBalances.map((balance) => [balance.accountIndex, balance]));
  const after = new Map(meta.postTokenBalances.map((balance) => [balance.accountIndex, balance]));
  const side = (prefix: 'pre' | 'post', balance: RawTokenBalance | undefined): Line => ({
    [`${prefix}Mint`]: balance?.mint ?? null,
    [`${prefix}Decimals`]: balance?.uiTokenAmount.decimals ?? null,
    [`${prefix}ProgramId`]: balance?.programId ?? null,
    [`${prefix}Owner`]: balance?.owner ?? null,
    [`${prefix}Amount`]: balance ? BigInt(balance.uiTokenAmount.amount) : null,
  });
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((index) => ({
      account: keys[Number(index)] as string,
      ...side('pre', before.get(index)),
      ...side('post', after.get(index)),
    }))
    .sort(byAccount);
}

function byAccount(a: { readonly account: string }, b: { readonly account: string }): number {
  return compareValues(a.account, b.account);
}

/** Sorts rewards by key, type and amounts, because the order of a node has no meaning. */
function readRewards(rewards: readonly RawReward[]): Line[] {
  return [...rewards]
    .sort(
      (a, b) =>
        compareValues(a.pubkey, b.pubkey) ||
        compareValues(a.rewardType ?? '', b.rewardType ?? '') ||
        compareValues(a.lamports, b.lamports) ||
        compareValues(a.postBalance, b.postBalance),
    )
    .map(({ pubkey, lamports, postBalance, rewardType, commission }) => ({
      ...unread('reward'),
      pubKey: pubkey,
      pubkey,
      lamports,
      postBalance,
      rewardType,
      commission,
    }));
}

function compareValues<Value extends string | bigint>(a: Value, b: Value): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function toBase58(
  bytes: Parameters<ReturnType<typeof getBase58Decoder>['decode']>[0] | undefined | null,
): string {
  return bytes ? getBase58Decoder().decode(bytes) : '';
}
