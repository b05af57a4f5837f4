/** Builds a block like the result of `getBlock` with encoding `json`, from executed transactions. */
import assert from 'node:assert/strict';
import type { Address, ReadonlyUint8Array } from '@solana/kit';
import {
  type AccountStates,
  readMintDecimals,
  readTokenHolding,
  TOKEN_PROGRAMS,
} from './account-state.ts';
import type { ExecutedTransaction } from './bank.ts';
import { toNodeError } from './node-error.ts';
import { toBase58 } from './to-base58.ts';
import { type Json, JsonFloat, writeJson } from './write-json.ts';

export interface BlockPosition {
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly parentSlot: number;
  readonly blockHeight: number;
  readonly blockTime: number;
  readonly rewards: readonly {
    readonly pubkey: string;
    readonly lamports: bigint;
    readonly postBalance: bigint;
    readonly rewardType: string;
    readonly commission: null;
  }[];
}

/** Values that nodes of some years did not record. */
export interface Omissions {
  readonly stackHeights?: true;
  readonly logs?: true;
}

export function buildNodeBlock(
  place: BlockPosition,
  transactions: readonly ExecutedTransaction[],
  omissions: Omissions = {},
): Uint8Array {
  const block = {
    ...place,
    transactions: transactions.map((executed) => omit(buildTransaction(executed), omissions)),
  };
  return new TextEncoder().encode(writeJson(block));
}

function buildTransaction(executed: ExecutedTransaction): Json {
  return {
    meta: buildMeta(executed),
    transaction: { message: buildMessage(executed), signatures: executed.signatures },
    version: executed.message.version,
  };
}

function omit(value: Json, omissions: Omissions): Json {
  if (typeof value !== 'object' || value === null || value instanceof JsonFloat) return value;
  if (isArray(value)) return value.map((one) => omit(one, omissions));
  const members = Object.entries(value).map(([key, member]): [string, Json] => {
    const isOmitted =
      (key === 'stackHeight' && omissions.stackHeights) ||
      (key === 'logMessages' && omissions.logs);
    return [key, isOmitted ? null : omit(member, omissions)];
  });
  return Object.fromEntries(members);
}

/** `Array.isArray` does not narrow to a readonly array. */
function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function buildMessage({ message, plan }: ExecutedTransaction): Json {
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } =
    message.header;
  const lookups = ('addressTableLookups' in message && message.addressTableLookups) || [];
  return {
    accountKeys: message.staticAccounts,
    ...(message.version === 0 && {
      addressTableLookups: lookups.map((lookup) => ({
        accountKey: lookup.lookupTableAddress,
        readonlyIndexes: lookup.readonlyIndexes,
        writableIndexes: lookup.writableIndexes,
      })),
    }),
    header: {
      numReadonlySignedAccounts: numReadonlySignerAccounts,
      numReadonlyUnsignedAccounts: numReadonlyNonSignerAccounts,
      numRequiredSignatures: numSignerAccounts,
    },
    instructions: buildInstructions(message),
    recentBlockhash: message.lifetimeToken,
    ...(message.version === 1 && { transactionConfig: { ...plan.config } }),
  };
}

function buildInstructions(message: ExecutedTransaction['message']): Json[] {
  if (message.version === 1) {
    return message.instructionHeaders.map((header, i) => {
      const payload = message.instructionPayloads[i];
      assert(payload !== undefined, 'a header comes with a payload');
      return buildInstruction({
        programIdIndex: header.programAccountIndex,
        accounts: payload.instructionAccountIndices,
        data: payload.instructionData,
        stackHeight: 1,
      });
    });
  }
  return message.instructions.map((instruction) =>
    buildInstruction({
      programIdIndex: instruction.programAddressIndex,
      accounts: instruction.accountIndices ?? [],
      data: instruction.data ?? new Uint8Array(0),
      stackHeight: 1,
    }),
  );
}

interface CompiledInstruction {
  readonly programIdIndex: number;
  readonly accounts: Iterable<number>;
  readonly data: ReadonlyUint8Array;
  readonly stackHeight: number;
}

function buildInstruction(instruction: CompiledInstruction): Json {
  return {
    accounts: [...instruction.accounts],
    data: toBase58(instruction.data),
    programIdIndex: instruction.programIdIndex,
    stackHeight: instruction.stackHeight,
  };
}

function buildMeta(executed: ExecutedTransaction): Json {
  const { keys, before, after, meta, result, fee, loaded } = executed;
  const err = toNodeError(result);
  const balance = (states: AccountStates) => (key: Address) => states.get(key)?.lamports ?? 0n;
  return {
    computeUnitsConsumed: meta.computeUnitsConsumed(),
    err,
    fee,
    innerInstructions: buildInnerInstructions(executed),
    loadedAddresses: loaded,
    logMessages: meta.logs(),
    postBalances: keys.map(balance(after)),
    postTokenBalances: buildTokenBalances(keys, after),
    preBalances: keys.map(balance(before)),
    preTokenBalances: buildTokenBalances(keys, before),
    ...buildReturnData(executed),
    rewards: [],
    status: err === null ? { Ok: null } : { Err: err },
  };
}

function buildInnerInstructions({ meta }: ExecutedTransaction): Json[] {
  const groups = meta.innerInstructions().map((group, index) => ({
    index,
    instructions: group.map((inner) => {
      const instruction = inner.instruction();
      return buildInstruction({
        programIdIndex: instruction.programIdIndex(),
        accounts: instruction.accounts(),
        data: instruction.data(),
        stackHeight: inner.stackHeight(),
      });
    }),
  }));
  return groups.filter((group) => group.instructions.length > 0);
}

function buildReturnData({ meta }: ExecutedTransaction): { [key: string]: Json } {
  const returned = meta.returnData();
  if (returned.data().length === 0) return {};
  const data = Buffer.from(returned.data()).toString('base64');
  const programId = toBase58(returned.programId());
  return { returnData: { programId, data: [data, 'base64'] } };
}

/** A node lists token balances only for transactions that name a token program, and never for programs. */
function buildTokenBalances(keys: readonly Address[], states: AccountStates): Json[] {
  if (!keys.some((key) => TOKEN_PROGRAMS.has(key))) return [];
  return keys.flatMap((key, accountIndex) => {
    const account = states.get(key);
    const holding = account && readTokenHolding(account);
    const mint = holding && states.get(holding.mint);
    if (!holding || !mint) return [];
    const decimals = readMintDecimals(mint);
    return [
      {
        accountIndex,
        mint: holding.mint,
        owner: holding.owner,
        programId: account.owner,
        uiTokenAmount: {
          amount: holding.amount.toString(),
          decimals,
          uiAmount:
            holding.amount === 0n ? null : new JsonFloat(Number(holding.amount) / 10 ** decimals),
          uiAmountString: toUiText(holding.amount, decimals),
        },
      },
    ];
  });
}

function toUiText(amount: bigint, decimals: number): string {
  if (decimals === 0) return amount.toString();
  const digits = amount.toString().padStart(decimals + 1, '0');
  const text = `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
  return text.replace(/\.?0+$/, '');
}
