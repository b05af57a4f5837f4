/**
 * The branded primitives of the ledger. Only the functions in this file create them: `parse…` and `is…` check values from outside,
 * which may be anything; `to…` takes values that our own code computed, where anything invalid is a bug.
 */
import { assert } from '@sluice/base/assert';
import { encodeBase58, isBase58Of32, isBase58Of64 } from '@sluice/base/base58';
import type { Brand } from '@sluice/base/brand';

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
  const isSlot = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  return isSlot ? (value as Slot) : undefined;
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

/** Takes a text that a kernel has encoded from 32 bytes, without checking it again: opening a segment reads one for each block. */
export function trustedBlockHash(text: string): BlockHash {
  return text as BlockHash;
}

export function isAddress(value: unknown): value is Address {
  return typeof value === 'string' && isBase58Of32(value);
}

/** Checks a whole list without copying it. */
export function areAddresses(list: readonly unknown[]): list is readonly Address[] {
  for (let i = 0; i < list.length; i++) if (!isAddress(list[i])) return false;
  return true;
}

export function isSignature(value: unknown): value is Signature {
  return typeof value === 'string' && isBase58Of64(value);
}

/** Checks a whole list without copying it. */
export function areSignatures(list: readonly unknown[]): list is readonly Signature[] {
  for (let i = 0; i < list.length; i++) if (!isSignature(list[i])) return false;
  return true;
}

export function toAddress(bytes: Uint8Array): Address {
  assert(bytes.length === 32, 'an address has 32 bytes');
  return encodeBase58(bytes) as Address;
}

export function toSignature(bytes: Uint8Array): Signature {
  assert(bytes.length === 64, 'a signature has 64 bytes');
  return encodeBase58(bytes) as Signature;
}

/** Compares two addresses in execution order: by number, and a prefix before its extensions. */
export function compareInstructionAddresses(a: readonly number[], b: readonly number[]): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Returns whether `ancestor` is a proper ancestor of `address` in the call tree. */
export function isAncestorAddress(
  ancestor: readonly number[],
  address: readonly number[],
): boolean {
  if (ancestor.length >= address.length) return false;
  return ancestor.every((step, depth) => step === address[depth]);
}
