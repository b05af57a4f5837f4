import type { Brand } from '../base/brand.ts';

/** A slot's number. Safe as a JavaScript number: one function mints it and checks that. */
export type Slot = Brand<number, 'Slot'>;
/** Base58 text of 32 bytes that names an account or a program. */
export type Address = Brand<string, 'Address'>;
/** Base58 text of 32 bytes that names a block. */
export type BlockHash = Brand<string, 'BlockHash'>;
/** Base58 text of 64 bytes. */
export type Signature = Brand<string, 'Signature'>;

/** The slot, or `undefined` if the value is no non-negative safe integer. */
export function parseSlot(value: unknown): Slot | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as Slot) : undefined;
}
