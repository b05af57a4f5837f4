import { CodedError } from '@sluice/base/errors';
import type { QueryPath } from './query-refusal.ts';

const digitsShownMax = 40;
const numberPattern = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/**
 * Parses a block number from the text that the client sent: a non-negative integer in any JSON notation (`100`, `1e2`,
 * `100.0`). The exact text is needed because `JSON.parse` would have rounded the value.
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

/** Converts a block number to a JavaScript number. A slot beyond 2^53 is above every head and becomes `Infinity`. */
export function toSlotBound(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(value);
}

function parseExactInteger(text: string): bigint | undefined {
  const parts = numberPattern.exec(text);
  // A value beyond the range of a double, such as 1e999, is rejected. This also limits the number of digits created
  // below.
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

/** Returns the index of the last non-zero digit. A loop, because `/0+$/` takes quadratic time on some texts. */
function lastNonZero(digits: string): number {
  let at = digits.length - 1;
  while (digits[at] === '0') at--;
  return at;
}
