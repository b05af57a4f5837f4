/**
 * Executes transactions of the simulated ledger that only use real programs on the real virtual machine. The result must be the same: the
 * log, balances, token balances, calls and compute units.
 */
import assert from 'node:assert/strict';
import { decodeBase58 } from '@sluice/base/base58';
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import type { ChainBlock } from '@sluice/simulator/chain/chain-block';
import { parseContentOptions } from '@sluice/simulator/content/content-options';
import { BlockGenerator } from '@sluice/simulator/content/generate-block';
import { renderRawBlock } from '@sluice/simulator/content/render-raw-block';
import { type Address, getAddressEncoder, lamports } from '@solana/kit';
import { AccountState, getMintEncoder, getTokenEncoder } from '@solana-program/token';
import type { LiteSVM } from 'litesvm';
import { describe, expect, test } from 'vitest';
import { type LiteSvmModule, loadLiteSvm } from './load-litesvm.ts';
import { toNodeError } from './node-error.ts';
import { toBase58 } from './to-base58.ts';

const SYSTEM = '11111111111111111111111111111111';
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
const ASSOCIATED = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const STAKE = 'Stake11111111111111111111111111111111111111';
const VOTE = 'Vote111111111111111111111111111111111111111';
const WRAPPED = 'So11111111111111111111111111111111111111112';
const SLOT_HASHES = 'SysvarS1otHashes111111111111111111111111111';
/** All real programs that the simulated ledger calls. */
const EXECUTABLE = new Set([
  SYSTEM,
  TOKEN,
  TOKEN_2022,
  ASSOCIATED,
  STAKE,
  VOTE,
  'ComputeBudget111111111111111111111111111111',
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
]);
const SYSVARS = 'Sysvar1111111111111111111111111111111111111';
const TOKEN_RENT = 2_039_280n;
const MINT_RENT = 1_461_600n;
/**
 * All transactions of this many blocks at the start of the window are executed. From later blocks only those of the stake program are
 * executed, because they are rare.
 */
const FIRST_COUNT = 60;
const STAKE_SLOTS_END = 500;
const VOTE_COUNT_MAX = 12;
const EXECUTED_MIN = 60;

interface WireInstruction {
  readonly accounts: number[];
  readonly data: string;
  readonly programIdIndex: number;
  readonly stackHeight: number;
}
interface WireHolding {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly programId: string;
  readonly uiTokenAmount: { readonly amount: string; readonly decimals: number };
}
interface WireTransaction {
  readonly meta: {
    readonly computeUnitsConsumed: number;
    readonly err: unknown;
    readonly innerInstructions: { index: number; instructions: WireInstruction[] }[];
    readonly logMessages: string[] | null;
    readonly preBalances: number[];
    readonly postBalances: number[];
    readonly preTokenBalances: WireHolding[];
    readonly postTokenBalances: WireHolding[];
  };
  readonly transaction: {
    readonly message: {
      readonly accountKeys: string[];
      readonly addressTableLookups?: unknown[];
      readonly header: {
        readonly numReadonlySignedAccounts: number;
        readonly numReadonlyUnsignedAccounts: number;
        readonly numRequiredSignatures: number;
      };
      readonly instructions: WireInstruction[];
      readonly recentBlockhash: string;
    };
    readonly signatures: string[];
  };
  readonly version: 'legacy' | 0;
}

function* simulate(): Generator<WireTransaction> {
  const chain = new SimulatedChain({ seed: 8, skipRate: 0 });
  const generator = new BlockGenerator(parseContentOptions({ seed: 8 }));
  // The first blocks of a window, and its last ones, in which users return their tokens and coins.
  const { windowSlots } = generator;
  const first = Array.from({ length: STAKE_SLOTS_END }, (_, slot) => slot);
  let voteCount = 0;
  for (const slot of [...first, windowSlots - 2, windowSlots - 1]) {
    const block = generator.generate(chain.blockAt(slot) as ChainBlock);
    const { json } = renderRawBlock(block, { transactionDetails: 'full', rewards: false });
    // The amounts of these accounts are below 2^53, so numbers are exact.
    const { transactions } = JSON.parse(Buffer.from(json).toString()) as {
      transactions: WireTransaction[];
    };
    for (const wire of transactions) {
      const { accountKeys } = wire.transaction.message;
      if (accountKeys.includes(STAKE)) yield wire;
      else if (slot >= FIRST_COUNT && slot < windowSlots - 2) continue;
      else if (!accountKeys.includes(VOTE) || voteCount++ < VOTE_COUNT_MAX) yield wire;
    }
  }
}

interface Mint {
  readonly decimals: number;
  readonly programId: string;
}

/** The mints of token accounts, from earlier transactions: a transaction that fails when it creates accounts has no token balances. */
class Known extends Map<string, Mint> {
  /** The data of stake accounts, as the virtual machine left them. */
  readonly stakes = new Map<string, Uint8Array>();

  learn({ meta }: WireTransaction): void {
    for (const { mint, programId, uiTokenAmount } of [
      ...meta.preTokenBalances,
      ...meta.postTokenBalances,
    ]) {
      this.set(mint, { decimals: uiTokenAmount.decimals, programId });
    }
  }

  /** Returns whether the mints of all accounts that the transaction opens are known. */
  areKnown({ transaction: { message } }: WireTransaction): boolean {
    return message.instructions.every(({ accounts, programIdIndex }) => {
      const isOpening = message.accountKeys[programIdIndex] === ASSOCIATED;
      return !isOpening || this.has(message.accountKeys[accounts[3] as number] as string);
    });
  }

  /** Whether the state of the stake account is known, or the transaction creates it. */
  isStakeKnown(wire: WireTransaction): boolean {
    return callsOf(wire, STAKE).every(({ accounts, data }) => {
      return data[0] === 0 || data[0] === 2 || this.stakes.has(accounts[0] as string);
    });
  }
}

function isExecutable({ transaction, meta }: WireTransaction): boolean {
  const { accountKeys, addressTableLookups = [], instructions } = transaction.message;
  const calls = [...instructions, ...meta.innerInstructions.flatMap((group) => group.instructions)];
  const programs = calls.map((call) => accountKeys[call.programIdIndex] as string);
  const hasVast = meta.preBalances.some((balance) => balance > Number.MAX_SAFE_INTEGER);
  return (
    addressTableLookups.length === 0 &&
    !hasVast &&
    meta.logMessages !== null &&
    meta.logMessages.length > 0 &&
    JSON.stringify(meta.err).includes('Rent') === false &&
    programs.every((program) => EXECUTABLE.has(program))
  );
}

/** The top-level calls of a program, with addresses and bytes. */
function callsOf({ transaction: { message } }: WireTransaction, program: string) {
  const { accountKeys, instructions } = message;
  return instructions
    .filter(({ programIdIndex }) => accountKeys[programIdIndex] === program)
    .map(({ accounts, data }) => ({
      accounts: accounts.map((index) => accountKeys[index] as string),
      data: encodeData(data),
    }));
}

/** A vote account that has not voted yet; the identity is its voter. */
function encodeVoteState(identity: string): Buffer {
  const state = Buffer.alloc(3762);
  state.writeUInt32LE(2, 0);
  for (const at of [4, 36, 94]) encodeKey(identity).copy(state, at);
  // One authorized voter, from epoch 0 on, and no earlier one in the ring of 32.
  state.writeBigUInt64LE(1n, 78);
  state.writeBigUInt64LE(31n, 126 + 32 * 48);
  state.writeUInt8(1, 134 + 32 * 48);
  return state;
}

/** Returns the slots that a vote confirms, and the hash of the newest one. */
function encodeSlotHashes(vote: Buffer): Buffer {
  const [rootAt, countAt, listAt] = [4, 12, 13];
  const root = Number(vote.readBigUInt64LE(rootAt));
  const count = vote[countAt] as number;
  const rows = Array.from({ length: count }, (_, i) => {
    const row = Buffer.alloc(40);
    row.writeBigUInt64LE(BigInt(root + count - i));
    if (i === 0) vote.copy(row, 8, listAt + count * 2, listAt + count * 2 + 32);
    return row;
  });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(count));
  return Buffer.concat([length, ...rows]);
}

const encodeKey = (key: string): Buffer => {
  return Buffer.from(getAddressEncoder().encode(key as Address) as Uint8Array);
};

function encodeCount(count: number): Buffer {
  return count < 128 ? Buffer.from([count]) : Buffer.from([(count & 127) | 128, count >> 7]);
}

function encodeData(data: string): Buffer {
  const bytes = decodeBase58(data);
  assert(bytes !== undefined);
  return Buffer.from(bytes);
}

function encodeMessage({ transaction: { message }, version }: WireTransaction): Buffer {
  const { header, accountKeys, instructions, recentBlockhash } = message;
  return Buffer.concat([
    Buffer.from(version === 0 ? [128] : []),
    Buffer.from([
      header.numRequiredSignatures,
      header.numReadonlySignedAccounts,
      header.numReadonlyUnsignedAccounts,
    ]),
    encodeCount(accountKeys.length),
    ...accountKeys.map(encodeKey),
    encodeKey(recentBlockhash),
    encodeCount(instructions.length),
    ...instructions.flatMap(({ programIdIndex, accounts, data }) => [
      Buffer.from([programIdIndex]),
      encodeCount(accounts.length),
      Buffer.from(accounts),
      encodeCount(encodeData(data).length),
      encodeData(data),
    ]),
    Buffer.from(version === 0 ? [0] : []),
  ]);
}

function encodeHolding({ mint, owner, programId, uiTokenAmount }: WireHolding): Uint8Array {
  const data = getTokenEncoder().encode({
    mint: mint as Address,
    owner: owner as Address,
    amount: BigInt(uiTokenAmount.amount),
    delegate: null,
    state: AccountState.Initialized,
    isNative: mint === WRAPPED ? TOKEN_RENT : null,
    delegatedAmount: 0n,
    closeAuthority: null,
  }) as Uint8Array;
  // Token-2022 adds the type of the account, and an extension without a value for the immutable owner.
  return programId === TOKEN_2022 ? Buffer.concat([data, Buffer.from([2, 7, 0, 0, 0])]) : data;
}

/** Creates the accounts that the records describe before the transaction. */
function prepare(svm: LiteSVM, wire: WireTransaction, known: Known): void {
  const { transaction, meta } = wire;
  const keys = transaction.message.accountKeys;
  const put = (key: string, balance: bigint, owner: string, data: Uint8Array): void => {
    svm.setAccount({
      address: key as Address,
      lamports: lamports(balance),
      data,
      programAddress: owner as Address,
      executable: false,
      space: BigInt(data.length),
    });
  };
  const held = new Map(meta.preTokenBalances.map((row) => [row.accountIndex, row]));
  const votes = callsOf(wire, VOTE);
  const delegations = callsOf(wire, STAKE).filter(({ data }) => data[0] === 2);
  const voteAccounts = new Set([
    ...votes.map(({ accounts }) => accounts[0]),
    ...delegations.map(({ accounts }) => accounts[1]),
  ]);
  for (const [mint, { decimals, programId }] of known) {
    if (!keys.includes(mint) && !meta.preTokenBalances.some((row) => row.mint === mint)) continue;
    const data = getMintEncoder().encode({
      mintAuthority: null,
      supply: 10n ** 17n,
      decimals,
      isInitialized: true,
      freezeAuthority: null,
    });
    put(mint, MINT_RENT, programId, data as Uint8Array);
  }
  keys.forEach((key, index) => {
    const holding = held.get(index);
    if (EXECUTABLE.has(key) || known.has(key) || key.startsWith('Sysvar')) return;
    const balance = BigInt(meta.preBalances[index] as number);
    const stake = known.stakes.get(key);
    if (holding !== undefined) put(key, balance, holding.programId, encodeHolding(holding));
    else if (voteAccounts.has(key)) put(key, balance, VOTE, encodeVoteState(keys[0] as string));
    else if (stake !== undefined && balance > 0n) put(key, balance, STAKE, stake);
    else put(key, balance, SYSTEM, new Uint8Array(0));
  });
  for (const { data } of votes) put(SLOT_HASHES, 10n ** 9n, SYSVARS, encodeSlotHashes(data));
}

/** The units of the associated token program depend on how many addresses it tries. */
function withoutUnits(lines: readonly string[], isExact: boolean): string[] {
  return isExact
    ? [...lines]
    : lines.map((line) => line.replace(/consumed \d+ of \d+/, 'consumed'));
}

function readAmount(svm: LiteSVM, key: string): string | null {
  const account = svm.getAccount(key as Address);
  if (!account.exists || account.data.length < 165) return null;
  return Buffer.from(account.data).readBigUInt64LE(64).toString();
}

function execute({ LiteSVM, FeatureSet }: LiteSvmModule, wire: WireTransaction, known: Known) {
  const svm = new LiteSVM()
    .withFeatureSet(FeatureSet.allEnabled())
    .withBuiltins()
    .withSysvars()
    .withDefaultPrograms()
    .withSigverify(false)
    .withBlockhashCheck(false);
  prepare(svm, wire, known);
  const { message, signatures } = wire.transaction;
  const signed = signatures.map((text, i) => [message.accountKeys[i], encodeData(text)]);
  const result = svm.sendTransaction({
    messageBytes: encodeMessage(wire),
    signatures: Object.fromEntries(signed),
  } as never);
  return { svm, result, meta: 'err' in result ? result.meta() : result };
}

function checkOne(module: LiteSvmModule, wire: WireTransaction, known: Known): void {
  const { meta, transaction } = wire;
  const { accountKeys } = transaction.message;
  const { svm, result, meta: real } = execute(module, wire, known);
  const isExact = !accountKeys.includes(ASSOCIATED);
  expect(toNodeError(result)).toEqual(meta.err);
  expect(withoutUnits(meta.logMessages ?? [], isExact)).toEqual(withoutUnits(real.logs(), isExact));
  if (isExact) expect(meta.computeUnitsConsumed).toBe(Number(real.computeUnitsConsumed()));
  const balances = accountKeys.map((key) => Number(svm.getBalance(key as Address) ?? 0n));
  accountKeys.forEach((key, i) => {
    const isFixed = EXECUTABLE.has(key) || key.startsWith('Sysvar') || known.has(key);
    if (!isFixed) expect([key, meta.postBalances[i]]).toEqual([key, balances[i]]);
  });
  for (const { accounts } of callsOf(wire, STAKE)) {
    const stake = svm.getAccount(accounts[0] as Address);
    if (stake.exists) known.stakes.set(accounts[0] as string, Uint8Array.from(stake.data));
  }
  for (const row of meta.postTokenBalances) {
    const key = accountKeys[row.accountIndex] as string;
    expect([key, row.uiTokenAmount.amount]).toEqual([key, readAmount(svm, key)]);
  }
  const inner = real.innerInstructions().map((group, index) => ({
    index,
    instructions: group.map((one) => ({
      accounts: [...one.instruction().accounts()],
      data: toBase58(one.instruction().data()),
      programIdIndex: one.instruction().programIdIndex(),
      stackHeight: one.stackHeight(),
    })),
  }));
  expect(meta.innerInstructions).toEqual(inner.filter((group) => group.instructions.length > 0));
}

const litesvm = await loadLiteSvm();
const missing = typeof litesvm === 'string' ? litesvm : '';
if (missing) process.stderr.write(`simulated transactions are not executed: ${missing}\n`);

describe.skipIf(missing)('simulated transactions on the real virtual machine', () => {
  test('property: a sample of transactions has the same result as its record', () => {
    const programs = new Map<string, number>();
    const known = new Known();
    let count = 0;
    let failedCount = 0;
    let withdrawnCount = 0;
    for (const wire of simulate()) {
      known.learn(wire);
      if (!isExecutable(wire) || !known.areKnown(wire) || !known.isStakeKnown(wire)) continue;
      if (callsOf(wire, STAKE).some(({ data }) => data[0] === 4)) withdrawnCount++;
      checkOne(litesvm as LiteSvmModule, wire, known);
      if (wire.meta.err !== null) failedCount++;
      for (const key of wire.transaction.message.accountKeys) {
        if (EXECUTABLE.has(key)) programs.set(key, (programs.get(key) ?? 0) + 1);
      }
      count++;
    }
    expect([...programs.keys()].sort()).toEqual([...EXECUTABLE].sort());
    expect(count).toBeGreaterThan(EXECUTED_MIN);
    expect(failedCount).toBeGreaterThan(5);
    expect(withdrawnCount).toBeGreaterThan(0);
  });
});
