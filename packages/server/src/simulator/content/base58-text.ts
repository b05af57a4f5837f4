/**
 * Base58 texts made as digits, without any conversion: what is random is drawn as digits, not as bytes.
 *
 *   2^256 lies between 17 and 18 times 58^43, so 44 digits whose first is 1…16 are 32 bytes, no leading zero;
 *   58^42 times 5 lies above 2^248, so 43 digits whose first is 5…57 are 32 bytes too;
 *   2^512 lies between 5 and 6 times 58^87, so 88 digits whose first is 1…4 are 64 bytes.
 *
 * Data that must begin with certain bytes has fixed first digits (`buildDataTemplate`) and random ones after them.
 */
import { assert } from '../../base/assert.ts';
import type { Random } from '../../base/random.ts';
import { HEADER_BYTES, type PooledText, type TextRegion } from './text-pool.ts';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGITS = Buffer.from(ALPHABET, 'latin1');
const PAIR_COUNT = 58 * 58;
/** Both digits of every pair as two bytes, so that one 16-bit number gives two. */
const PAIRS = new Uint16Array(PAIR_COUNT);
for (let i = 0; i < PAIR_COUNT; i++) {
  PAIRS[i] = (DIGITS[Math.floor(i / 58)] as number) | ((DIGITS[i % 58] as number) << 8);
}

/** The most digits one text has; instruction data of 1,232 bytes needs 1,683. */
const DIGIT_COUNT_MAX = 1700;

/** A transaction needs about this many digits; they are made at once. */
const REFILL_COUNT = 512;

/** Random digits, handed out piece by piece. */
export class DigitTape {
  /** Where the digits come from, and whatever else is drawn along with them. */
  random: Random;
  #refillCount: number;
  /** Four digits are made at a time. */
  readonly #words = new Int32Array(DIGIT_COUNT_MAX / 4 + 1);
  readonly #digits = new Uint8Array(this.#words.buffer);
  #length = 0;
  #at = 0;

  constructor(random: Random, refillCount = REFILL_COUNT) {
    this.random = random;
    this.#refillCount = refillCount;
  }

  /** As good as a new tape: no digit of the old one is left. */
  restart(random: Random, refillCount = REFILL_COUNT): void {
    this.random = random;
    this.#refillCount = refillCount;
    this.#length = 0;
    this.#at = 0;
  }

  take(count: number, into: Uint8Array, place: number): void {
    if (this.#at + count > this.#length) this.#refill(Math.max(count, this.#refillCount));
    const digits = this.#digits;
    const from = this.#at;
    for (let i = 0; i < count; i++) into[place + i] = digits[from + i] as number;
    this.#at = from + count;
  }

  #refill(count: number): void {
    assert(count <= DIGIT_COUNT_MAX, 'the tape holds the longest text');
    const words = this.#words;
    const { random } = this;
    for (let i = 0; i * 4 < count; i++) {
      const word = random.uint32();
      const first = PAIRS[((word >>> 16) * PAIR_COUNT) >>> 16] as number;
      const second = PAIRS[((word & 0xffff) * PAIR_COUNT) >>> 16] as number;
      words[i] = first | (second << 16);
    }
    this.#length = count;
    this.#at = 0;
  }
}

/** About one address in seventeen has 43 digits, as on the real ledger. */
export function drawAddress(tape: DigitTape, region: TextRegion): PooledText {
  const { random } = tape;
  const isShort = random.below(17) === 0;
  const first = isShort ? random.between(5, 57) : random.between(1, 16);
  return openDigits(first, isShort ? 42 : 43, tape, region);
}

export function drawSignature(tape: DigitTape, region: TextRegion): PooledText {
  return openDigits(tape.random.between(1, 4), 87, tape, region);
}

function openDigits(
  first: number,
  moreCount: number,
  tape: DigitTape,
  region: TextRegion,
): PooledText {
  const text = region.open(1 + moreCount);
  const { bytes } = region.pool;
  const start = text + HEADER_BYTES;
  bytes[start] = DIGITS[first] as number;
  tape.take(moreCount, bytes, start + 1);
  return text;
}

/** Instruction data that starts with given bytes: fixed digits, then this many free ones. */
export interface DataTemplate {
  readonly fixed: string;
  readonly freeCount: number;
}

export function drawData(
  { fixed, freeCount }: DataTemplate,
  tape: DigitTape,
  region: TextRegion,
): PooledText {
  const { length } = fixed;
  const text = region.open(length + freeCount);
  const { bytes } = region.pool;
  const start = text + HEADER_BYTES;
  for (let i = 0; i < length; i++) bytes[start + i] = fixed.charCodeAt(i);
  if (freeCount > 0) tape.take(freeCount, bytes, start + length);
  return text;
}

/**
 * The template for data of `byteCount` bytes that begins with `start`. The number in the middle of all such data keeps
 * its first digits; as many last digits are free as can vary without leaving the range.
 */
export function buildDataTemplate(start: readonly number[], byteCount: number): DataTemplate {
  assert(start.length <= byteCount, 'the data is at least as long as its start');
  let zeroCount = 0;
  while (zeroCount < start.length && start[zeroCount] === 0) zeroCount++;
  const zeros = '1'.repeat(zeroCount);
  const rest = start.slice(zeroCount);
  const restCount = byteCount - zeroCount;
  if (restCount === 0) return { fixed: zeros, freeCount: 0 };
  // A leading zero byte would be a digit of its own, so data that may begin with anything begins with 0x80.
  if (rest.length === 0) rest.push(0x80);
  let low = 0n;
  for (const byte of rest) low = low * 256n + BigInt(byte);
  const span = 256n ** BigInt(restCount - rest.length);
  const middle = low * span + span / 2n;
  // 58^9 lies below 2^53: a free digit takes less than 53/9 bits, and one bit is kept for the half.
  const freeCount = Math.max(0, Math.floor(((restCount - rest.length) * 8 - 1) / (53 / 9)));
  return { fixed: zeros + toDigits(middle / 58n ** BigInt(freeCount)), freeCount };
}

function toDigits(value: bigint): string {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 58n) text = ALPHABET[Number(rest % 58n)] + text;
  return text;
}
