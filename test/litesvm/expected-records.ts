/**
 * The expected records of a planned and executed transaction. They are derived from the plan, from the trace that proved it, and from the
 * bank, but not from the raw block or the text of the log.
 */
import type { Address } from '@solana/kit';
import { getMintDecoder, getTokenDecoder } from '@solana-program/token';
import type {
  Balance,
  Instruction,
  Log,
  TokenBalance,
  Transaction,
} from '../../packages/ledger/src/block.ts';
import { neutralRecord } from '../../packages/ledger/src/testing/stored-fields.ts';
import {
  joinSides,
  NO_SIDE,
  type TokenSide,
} from '../../packages/simulator/src/content/testing/token-sides.ts';
import type { AccountState } from '../scenarios/ground.ts';
import { accountsOf } from '../scenarios/planned-transaction.ts';
import { type AccountStates, TOKEN_PROGRAMS } from './account-state.ts';
import type { ExecutedTransaction } from './bank.ts';
import { toBase58 } from './to-base58.ts';
import type { Trace, TracedCall } from './trace-calls.ts';

/** A record with its branded texts as plain ones. */
type Plain<Value> = Value extends string
  ? string
  : Value extends number
    ? number
    : Value extends bigint | boolean | null
      ? Value
      : { readonly [Key in keyof Value]: Plain<Value[Key]> };

export interface ExpectedRecords {
  readonly transaction: Plain<Transaction>;
  readonly instructions: readonly Plain<Instruction>[];
  readonly logs: readonly Plain<Log>[];
  readonly balances: readonly Plain<Balance>[];
  readonly tokenBalances: readonly Plain<TokenBalance>[];
}

/** `markLine` is the position at which the log was truncated, if it was. */
export function expectRecords(
  executed: ExecutedTransaction,
  trace: Trace,
  position: { readonly transactionIndex: number; readonly markLine: number | null },
): ExpectedRecords {
  const seen = (line: number | null): line is number =>
    line !== null && (position.markLine === null || line < position.markLine);
  const { transactionIndex } = position;
  return {
    transaction: expectTransaction(executed, position),
    instructions: trace.calls.map((traced) => ({
      ...neutralRecord('instruction'),
      transactionIndex,
      ...expectInstruction(traced, seen),
      isCommitted: executed.plan.err === undefined,
    })),
    logs: trace.lines
      .filter(({ line }) => seen(line))
      .map(({ line, address, program, kind, message }) => ({
        ...neutralRecord('log'),
        transactionIndex,
        logIndex: line,
        instructionAddress: address,
        programId: program,
        kind,
        message,
      })),
    balances: expectBalances(executed).map((balance) => ({
      ...neutralRecord('balance'),
      transactionIndex,
      ...balance,
    })),
    tokenBalances: expectTokenBalances(executed).map((balance) => ({
      ...neutralRecord('tokenBalance'),
      transactionIndex,
      ...balance,
    })),
  };
}

function expectTransaction(
  { plan, message, loaded, signatures, fee, meta }: ExecutedTransaction,
  position: { readonly transactionIndex: number; readonly markLine: number | null },
): Plain<Transaction> {
  const lookups = ('addressTableLookups' in message && message.addressTableLookups) || [];
  return {
    ...neutralRecord('transaction'),
    transactionIndex: position.transactionIndex,
    version: plan.version === 'legacy' ? -1 : (plan.version ?? 0),
    accountKeys: message.staticAccounts,
    addressTableLookups: lookups.map((lookup) => ({
      accountKey: lookup.lookupTableAddress,
      readonlyIndexes: lookup.readonlyIndexes,
      writableIndexes: lookup.writableIndexes,
    })),
    numReadonlySignedAccounts: message.header.numReadonlySignerAccounts,
    numReadonlyUnsignedAccounts: message.header.numReadonlyNonSignerAccounts,
    numRequiredSignatures: message.header.numSignerAccounts,
    recentBlockhash: message.lifetimeToken,
    signatures,
    err: plan.err ?? null,
    fee,
    computeUnitsConsumed: meta.computeUnitsConsumed(),
    loadedAddresses: loaded,
    hasDroppedLogMessages: position.markLine !== null,
  };
}

function expectInstruction(
  { address, call, ran, units, resultLine }: TracedCall,
  seen: (line: number | null) => line is number,
): Omit<Plain<Instruction>, 'transactionIndex' | 'isCommitted'> {
  return {
    instructionAddress: address,
    programId: call.instruction.programAddress,
    accounts: accountsOf(call.instruction),
    data: toBase58(call.instruction.data),
    error: seen(resultLine) ? (call.error ?? null) : null,
    computeUnitsConsumed: units && seen(units.line) ? units.consumed : null,
    hasDroppedLogMessages: ran && !seen(resultLine),
  };
}

function expectBalances(
  executed: ExecutedTransaction,
): { account: Address; pre: bigint; post: bigint }[] {
  return [...executed.keys].sort(byText).flatMap((account) => {
    const pre = executed.before.get(account)?.lamports ?? 0n;
    const post = executed.after.get(account)?.lamports ?? 0n;
    return pre === post ? [] : [{ account, pre, post }];
  });
}

function expectTokenBalances({
  keys,
  before,
  after,
}: ExecutedTransaction): Omit<Plain<TokenBalance>, 'transactionIndex'>[] {
  if (!keys.some((key) => TOKEN_PROGRAMS.has(key))) return [];
  return [...keys].sort(byText).flatMap((account) => {
    const pre = readHolding(before, account);
    const post = readHolding(after, account);
    if (pre === NO_SIDE && post === NO_SIDE) return [];
    return [{ account, ...joinSides(pre, post) }];
  });
}

/** Uses the decoders of the token library, while the builder of the raw block reads the bytes itself. */
function readHolding(states: AccountStates, account: Address): TokenSide<Address> {
  const state = states.get(account);
  if (!state || !holdsTokens(state)) return NO_SIDE;
  const token = getTokenDecoder().decode(state.data);
  const mint = states.get(token.mint);
  return {
    mint: token.mint,
    decimals: mint ? getMintDecoder().decode(mint.data).decimals : null,
    programId: state.owner,
    owner: token.owner,
    amount: token.amount,
  };
}

/** A mint has 82 bytes, or is marked as one after byte 165. */
function holdsTokens({ owner, data }: AccountState): boolean {
  if (!TOKEN_PROGRAMS.has(owner) || data.length < 165 || data[165] === 1) return false;
  return getTokenDecoder().decode(data).state !== 0;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
