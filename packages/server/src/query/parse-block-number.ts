import { CodedError } from '../base/errors.ts';
import type { QueryPath } from './query-refusal.ts';

const digitsShownMax = 40;
const numberPattern = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/**
 * A block number from the digits a client wrote: any non-negative integer, in any of JSON's spellings (`100`, `1e2`,
 * `100.0`). It is judged by its exact value, since `JSON.parse` would already have rounded it.
 */
export function parseBlockNumber(text: string, path: QueryPath): bigint {
  const value = parseExactInteger(text);
  if (value === undefined || value < 0n) {
    const found = text.length > digitsShownMax ? `${text.slice(0, digitsShownMax)}…` : text;
    const allowed = 'a non-negative integer';
    throw new CodedError('query-block-number-invalid', { path, found, allowed });
  }
  return value;
}

/** A slot beyond 2^53 is above every head; as a JavaScript number it is `Infinity`. */
export function toSlotBound(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(value);
}

function parseExactInteger(text: string): bigint | undefined {
  const parts = numberPattern.exec(text);
  // What no reader of JSON can hold, like 1e999, is no number here either; it also bounds the digits made below.
  if (parts === null || !Number.isFinite(Number(text))) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return 0n;
  const significantEnd = lastNonZero(digits) + 1;
  const zeroCount = Number(exponent) - fraction.length + (digits.length - significantEnd);
  if (zeroCount < 0) return undefined;
  const magnitude = BigInt(digits.slice(0, significantEnd) + '0'.repeat(zeroCount));
  return sign === '-' ? -magnitude : magnitude;
}

/** By hand, because `/0+$/` takes quadratic time on a text of zeros that does not end in one. */
function lastNonZero(digits: string): number {
  let at = digits.length - 1;
  while (digits[at] === '0') at--;
  return at;
}
