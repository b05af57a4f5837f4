/**
 * Signatures, drawn as base58 digits without any conversion: 2^512 lies between 5 and 6 times 58^87, so 88 digits whose first
 * is 1…4 are 64 bytes.
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

const SIGNATURE_DIGITS = 88;
/** The most digits that are made at once. */
const DIGIT_COUNT_MAX = 1024;
const REFILL_COUNT = SIGNATURE_DIGITS;

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

export function drawSignature(tape: DigitTape, region: TextRegion): PooledText {
  const text = region.open(SIGNATURE_DIGITS);
  const { bytes } = region.pool;
  const start = text + HEADER_BYTES;
  bytes[start] = DIGITS[tape.random.between(1, 4)] as number;
  tape.take(SIGNATURE_DIGITS - 1, bytes, start + 1);
  return text;
}
