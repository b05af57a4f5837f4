/**
 * Base58 texts made as texts, without any conversion: what is random is drawn as digits, not as bytes.
 *
 *   2^256 lies between 17 and 18 times 58^43, so 44 digits whose first is 1…16 are 32 bytes, no leading zero;
 *   58^42 times 5 lies above 2^248, so 43 digits whose first is 5…57 are 32 bytes too;
 *   2^512 lies between 5 and 6 times 58^87, so 88 digits whose first is 1…4 are 64 bytes.
 *
 * Data that must begin with certain bytes has fixed first digits (`buildDataTemplate`) and random ones after them.
 */
import { assert } from '../../base/assert.ts';
import type { Random } from '../../base/random.ts';
import type { Address, Signature } from '../../ledger/primitives.ts';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGITS = Buffer.from(ALPHABET, 'latin1');
const PAIR_COUNT = 58 * 58;
/** Both digits of every pair, so that one 16-bit number gives two. */
const PAIRS = Buffer.alloc(PAIR_COUNT * 2);
for (let i = 0; i < PAIR_COUNT; i++) {
  PAIRS[i * 2] = DIGITS[Math.floor(i / 58)] as number;
  PAIRS[i * 2 + 1] = DIGITS[i % 58] as number;
}

/** The most digits one text has; instruction data of 1,232 bytes needs 1,683. */
const DIGIT_COUNT_MAX = 1700;
/** Four digits are made at a time. */
const scratch = Buffer.alloc(DIGIT_COUNT_MAX + 4);

/** A transaction needs about this many digits; they are made at once, since each text from bytes is a call out of JavaScript. */
const REFILL_COUNT = 512;

/** Random digits, handed out piece by piece. */
export class DigitTape {
  readonly random: Random;
  readonly #refillCount: number;
  #digits = '';
  #at = 0;

  constructor(random: Random, refillCount = REFILL_COUNT) {
    this.random = random;
    this.#refillCount = refillCount;
  }

  take(count: number): string {
    if (this.#at + count > this.#digits.length) {
      this.#digits = drawDigits(this.random, Math.max(count, this.#refillCount));
      this.#at = 0;
    }
    this.#at += count;
    return this.#digits.substring(this.#at - count, this.#at);
  }
}

/** About one address in seventeen has 43 digits, as on the real ledger. */
export function drawAddress(tape: DigitTape): Address {
  const { random } = tape;
  const isShort = random.below(17) === 0;
  const first = isShort ? random.between(5, 57) : random.between(1, 16);
  return ((ALPHABET[first] as string) + tape.take(isShort ? 42 : 43)) as Address;
}

export function drawSignature(tape: DigitTape): Signature {
  return ((ALPHABET[tape.random.between(1, 4)] as string) + tape.take(87)) as Signature;
}

/** Instruction data that starts with given bytes: fixed digits, then this many free ones. */
export interface DataTemplate {
  readonly fixed: string;
  readonly freeCount: number;
}

export function drawData(template: DataTemplate, tape: DigitTape): string {
  if (template.freeCount === 0) return template.fixed;
  return template.fixed + tape.take(template.freeCount);
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

function drawDigits(random: Random, count: number): string {
  assert(count <= DIGIT_COUNT_MAX, 'the scratch holds the longest text');
  for (let at = 0; at < count; at += 4) {
    const word = random.uint32();
    const first = (((word >>> 16) * PAIR_COUNT) >>> 16) * 2;
    const second = (((word & 0xffff) * PAIR_COUNT) >>> 16) * 2;
    scratch[at] = PAIRS[first] as number;
    scratch[at + 1] = PAIRS[first + 1] as number;
    scratch[at + 2] = PAIRS[second] as number;
    scratch[at + 3] = PAIRS[second + 1] as number;
  }
  return scratch.toString('latin1', 0, count);
}
