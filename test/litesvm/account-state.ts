import { type Address, getAddressDecoder } from '@solana/kit';
import type { AccountState } from '../scenarios/ground.ts';

/** Accounts before or after a transaction: its keys, and the mints of the token accounts among them. */
export type AccountStates = ReadonlyMap<Address, AccountState>;

export const TOKEN_PROGRAMS: ReadonlySet<string> = new Set([
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
]);

const TOKEN_ACCOUNT_BYTES = 165;
const TOKEN_ACCOUNT_TYPE = 2;

export interface TokenHolding {
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
}

/**
 * Returns the holding of an initialized token account; undefined for any other account.
 *
 *   0 mint · 32 owner · 64 amount · 72 delegate · 108 state · … 165 kind of account, then extensions (Token-2022 only)
 */
export function readTokenHolding(account: AccountState): TokenHolding | undefined {
  const { data } = account;
  if (!TOKEN_PROGRAMS.has(account.owner) || data.length < TOKEN_ACCOUNT_BYTES) return undefined;
  if (data.length > TOKEN_ACCOUNT_BYTES && data[TOKEN_ACCOUNT_BYTES] !== TOKEN_ACCOUNT_TYPE) {
    return undefined;
  }
  if (data[108] === 0) return undefined;
  return {
    mint: getAddressDecoder().decode(data, 0),
    owner: getAddressDecoder().decode(data, 32),
    amount: new DataView(data.buffer, data.byteOffset).getBigUint64(64, true),
  };
}

export function readMintDecimals(account: AccountState): number {
  return account.data[44] ?? 0;
}
