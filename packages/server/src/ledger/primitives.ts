/**
 * The branded primitives of the ledger. Only the functions in this file create them: `parse…` for values from outside, which
 * may be anything, and `to…` for values that our own code computed, where anything invalid is a bug.
 */
import { assert } from '../base/assert.ts';
import { isBase58Of32 } from '../base/base58.ts';
import type { Brand } from '../base/brand.ts';

/** A slot number: a non-negative safe integer. */
export type Slot = Brand<number, 'Slot'>;
/** Base58 text of 32 bytes that identifies an account or a program. */
export type Address = Brand<string, 'Address'>;
/** Base58 text of 32 bytes that identifies a block. */
export type BlockHash = Brand<string, 'BlockHash'>;
/** Base58 text of 64 bytes that identifies a transaction. */
export type Signature = Brand<string, 'Signature'>;

/** Returns the slot, or `undefined` if the value is not a non-negative safe integer. */
export function parseSlot(value: unknown): Slot | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as Slot) : undefined;
}

export function toSlot(value: number): Slot {
  const slot = parseSlot(value);
  assert(slot !== undefined, 'a slot is a non-negative safe integer');
  return slot;
}

/** Returns the hash, or `undefined` if the value is not base58 of 32 bytes. */
export function parseBlockHash(value: unknown): BlockHash | undefined {
  return typeof value === 'string' && isBase58Of32(value) ? (value as BlockHash) : undefined;
}

export function toBlockHash(text: string): BlockHash {
  const hash = parseBlockHash(text);
  assert(hash !== undefined, 'a block hash is base58 of 32 bytes');
  return hash;
}
