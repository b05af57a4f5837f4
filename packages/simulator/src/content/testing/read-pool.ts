import { assert } from '@sluice/base/assert';
import { encodeBase58 } from '@sluice/base/base58';
import {
  type Address,
  isAddress,
  isSignature,
  type Signature,
} from '../../../../ledger/src/primitives.ts';
import {
  type AmountList,
  HEADER_BYTES,
  type NumberList,
  type PooledText,
  type TextList,
  type TextPool,
} from '../text/text-pool.ts';

export function mintAddress(text: string): Address {
  assert(isAddress(text), 'the simulator prints addresses as base58 of 32 bytes');
  return text;
}

export function mintSignature(text: string): Signature {
  assert(isSignature(text), 'the simulator prints signatures as base58 of 64 bytes');
  return text;
}

export function readList(pool: TextPool, list: TextList): string[] {
  const start = (list + HEADER_BYTES) >> 2;
  return Array.from({ length: (pool.words[list >> 2] as number) >> 2 }, (_, i) => {
    return pool.read(pool.words[start + i] as PooledText);
  });
}

export function readNumbers(pool: TextPool, list: NumberList): number[] {
  const start = list + HEADER_BYTES;
  return [...pool.bytes.subarray(start, start + pool.byteCount(list))];
}

export function readAmounts(pool: TextPool, list: AmountList): bigint[] {
  const start = list + HEADER_BYTES;
  return Array.from({ length: pool.byteCount(list) / 8 }, (_, i) => {
    return pool.bytes.readBigUInt64LE(start + i * 8);
  });
}

/** Returns the bytes of a text in base58. */
export function readBase58(pool: TextPool, text: PooledText): string {
  const start = text + HEADER_BYTES;
  return encodeBase58(pool.bytes.subarray(start, start + pool.byteCount(text)));
}

/** Adds a list to the texts of the current transaction. */
export function addList(pool: TextPool, texts: readonly PooledText[]): TextList {
  const list = pool.passing.openList(texts.length);
  const start = (list + HEADER_BYTES) >> 2;
  texts.forEach((text, i) => {
    pool.words[start + i] = text;
  });
  return list;
}

export function addNumbers(pool: TextPool, numbers: readonly number[]): NumberList {
  const list = pool.passing.openNumbers(numbers.length);
  pool.bytes.set(numbers, list + HEADER_BYTES);
  return list;
}
