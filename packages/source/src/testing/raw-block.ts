/** Builds small raw blocks in the form of a node. A bigint becomes a bare JSON integer with all its digits. */
import { base58 } from '@scure/base';
import { AssertionError } from '@sluice/base/assert';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import { type NormalizedBlock, normalizeBlock } from '../normalize/normalize-block.ts';
import type { NormalizeOptions } from '../normalize/normalize-options.ts';

export const u64Max = 2n ** 64n - 1n;
/** The smallest positive integer that a JavaScript number cannot represent. */
export const beyondDouble = 2n ** 53n + 1n;

export type RawObject = { [key: string]: unknown };

/** Returns a distinctive address: 32 bytes, of which the first and the last are `n`. */
export function address(n: number): string {
  const bytes = new Uint8Array(32).fill(7);
  bytes[0] = n;
  bytes[31] = n;
  return base58.encode(bytes);
}

export function signature(n: number): string {
  return base58.encode(new Uint8Array(64).fill(n));
}

export const program = {
  a: address(100),
  b: address(101),
  c: address(102),
  d: address(103),
  system: '1'.repeat(32),
  vote: 'Vote111111111111111111111111111111111111111',
  computeBudget: 'ComputeBudget111111111111111111111111111111',
  ed25519: 'Ed25519SigVerify111111111111111111111111111',
} as const;

export const payer = address(1);
/** The static keys of every transaction: 0 and 1 are accounts, then the programs. */
export const keys = [
  payer,
  address(2),
  program.a,
  program.b,
  program.c,
  program.d,
  program.system,
  program.vote,
  program.computeBudget,
  program.ed25519,
];

/** Returns an instruction of one of the programs above. */
export function call(programId: string, more: RawObject = {}): RawObject {
  return { programIdIndex: keys.indexOf(programId), accounts: [], data: '', ...more };
}

/** Returns an instruction with a height. */
export function at(stackHeight: number, programId: string, more: RawObject = {}): RawObject {
  return call(programId, { stackHeight, ...more });
}

export interface TransactionParts {
  readonly instructions?: readonly RawObject[];
  readonly message?: RawObject;
  readonly meta?: RawObject | null;
  readonly version?: unknown;
  readonly signatures?: readonly string[];
}

export function rawTransaction(parts: TransactionParts = {}): RawObject {
  const meta = {
    err: null,
    fee: 5000,
    preBalances: [],
    postBalances: [],
    innerInstructions: [],
    logMessages: [],
    preTokenBalances: [],
    postTokenBalances: [],
    loadedAddresses: { writable: [], readonly: [] },
    computeUnitsConsumed: 150,
  };
  return {
    transaction: {
      signatures: parts.signatures ?? [signature(9)],
      message: {
        header: {
          numRequiredSignatures: 1,
          numReadonlySignedAccounts: 0,
          numReadonlyUnsignedAccounts: 8,
        },
        accountKeys: keys,
        recentBlockhash: address(50),
        instructions: parts.instructions ?? [],
        ...parts.message,
      },
    },
    meta: parts.meta === null ? null : { ...meta, ...parts.meta },
    version: 'version' in parts ? parts.version : 'legacy',
  };
}

export const slot = toSlot(1000);

export function rawBlock(transactions: readonly unknown[], more: RawObject = {}): RawObject {
  return {
    blockhash: address(60),
    previousBlockhash: address(61),
    parentSlot: 999,
    blockTime: 1_700_000_000,
    blockHeight: 900,
    transactions,
    rewards: [],
    ...more,
  };
}

/** Returns JSON with bigints as bare integers, without `undefined` members. */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${toJson(member)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

export function toBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(typeof value === 'string' ? value : toJson(value));
}

/** Normalizes a block, given as value or as JSON text. */
export function normalize(
  block: RawObject | string,
  options: Partial<NormalizeOptions> = {},
  number: Slot = slot,
): NormalizedBlock {
  return normalizeBlock(number, toBytes(block), options);
}

/** Normalizes a block of one transaction. */
export function normalizeOne(
  parts: TransactionParts,
  options: Partial<NormalizeOptions> = {},
): NormalizedBlock {
  return normalize(rawBlock([rawTransaction(parts)]), options);
}

/** Returns the error with which a block is refused. */
export function refusal(
  block: RawObject | string,
  options: Partial<NormalizeOptions> = {},
  number: Slot = slot,
): CodedError {
  try {
    normalize(block, options, number);
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  throw new AssertionError('the block was accepted');
}

export const refusalOfOne = (parts: TransactionParts, options: Partial<NormalizeOptions> = {}) =>
  refusal(rawBlock([rawTransaction(parts)]), options);

/** Returns the lines of programs that run one after another and print nothing else. */
export const ran = (...programs: string[]) =>
  programs.flatMap((id) => [`Program ${id} invoke [1]`, `Program ${id} success`]);
