/**
 * Reads integers of a parsed block. Short ones are numbers. Those of 16 digits or more are marked texts if they come from JSON
 * (`parse-exact-json.ts`), and bigints if they come from a binary format.
 */
import { markCode, plainMark } from './parse-exact-json.ts';

const u64Max = 2n ** 64n - 1n;
const i64Min = -(2n ** 63n);
const i64Max = 2n ** 63n - 1n;
// A longer integer is a marked text, so a larger number was written as a fraction or with an exponent.
const numberMax = 999_999_999_999_999;

/** Returns the digits of a long integer without its mark; undefined for anything else. */
export function markedDigits(value: unknown, mark: string): string | undefined {
  if (typeof value !== 'string' || value.charCodeAt(0) !== markCode) return undefined;
  if (mark !== plainMark && !value.startsWith(mark)) return undefined;
  return value.slice(mark.length);
}

export function readU64(value: unknown, mark: string): bigint | undefined {
  if (typeof value === 'number') return isCount(value) ? BigInt(value) : undefined;
  if (typeof value === 'bigint') return value >= 0n && value <= u64Max ? value : undefined;
  const digits = markedDigits(value, mark);
  return digits === undefined ? undefined : within(digits, 0n, u64Max);
}

export function readI64(value: unknown, mark: string): bigint | undefined {
  if (typeof value === 'number') {
    return isCount(Math.abs(value)) ? BigInt(value) : undefined;
  }
  if (typeof value === 'bigint') return value >= i64Min && value <= i64Max ? value : undefined;
  const digits = markedDigits(value, mark);
  return digits === undefined ? undefined : within(digits, i64Min, i64Max);
}

/** Reads a u64 that the source writes as decimal text, like token amounts. */
export function readU64Text(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || value.length > 20 || !isDigits(value)) return undefined;
  if (value.length > 1 && value.charCodeAt(0) === 0x30) return undefined;
  // Fifteen digits always fit into a number, which is much faster.
  if (value.length <= 15) return BigInt(Number(value));
  return within(value, 0n, u64Max);
}

/** Returns whether the number is a non-negative safe integer. */
export function isCount(value: number): boolean {
  return value >= 0 && value <= numberMax && Math.floor(value) === value;
}

function within(digits: string, min: bigint, max: bigint): bigint | undefined {
  // A longer text is no 64-bit number. It is not converted, because conversion takes quadratic time.
  if (digits.length > 20) return undefined;
  const value = BigInt(digits);
  return value >= min && value <= max ? value : undefined;
}

function isDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return text.length > 0;
}
