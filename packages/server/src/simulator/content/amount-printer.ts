/** How a node shows amounts of tokens: in whole ones, exactly and as a double. */
import type { HoldingSide } from './simulated-block.ts';
import { HEADER_BYTES, type PooledText, type TextPool } from './text-pool.ts';

const DIGIT_0 = 48;
const POINT = 46;
/** As many digits come back from a double as they went in. */
const EXACT_LENGTH_MAX = 15;

export interface Token {
  readonly mint: PooledText;
  readonly decimals: number;
  readonly programId: PooledText;
}

export class AmountPrinter {
  readonly #pool: TextPool;
  readonly #zero: PooledText;
  readonly #null: PooledText;

  constructor(pool: TextPool) {
    this.#pool = pool;
    this.#zero = pool.lasting.add('0');
    this.#null = pool.lasting.add('null');
  }

  show({ mint, decimals, programId }: Token, owner: PooledText, amount: PooledText): HoldingSide {
    const { bytes, words } = this.#pool;
    const isZero = words[amount >> 2] === 1 && bytes[amount + HEADER_BYTES] === DIGIT_0;
    const shown = isZero ? this.#zero : decimals === 0 ? amount : this.#shift(amount, decimals);
    const float = isZero ? this.#null : this.#printFloat(shown);
    return { mint, decimals, owner, programId, amount, shown, float };
  }

  /** With a point before the last `decimals` digits, at least one digit before it, and no zeros at the end. */
  #shift(amount: PooledText, decimals: number): PooledText {
    const pool = this.#pool;
    const count = pool.byteCount(amount);
    const end = amount + HEADER_BYTES + count;
    let zeroCount = 0;
    while (zeroCount < decimals && zeroCount < count && pool.bytes[end - 1 - zeroCount] === DIGIT_0)
      zeroCount++;
    const partCount = decimals - zeroCount;
    const wholeCount = Math.max(1, count - decimals);
    const shown = pool.passing.open(partCount === 0 ? wholeCount : wholeCount + 1 + partCount);
    const { bytes } = pool;
    const start = shown + HEADER_BYTES;
    const padCount = wholeCount + decimals - count;
    const digits = amount + HEADER_BYTES - padCount;
    for (let i = 0; i < wholeCount; i++) {
      bytes[start + i] = i < padCount ? DIGIT_0 : (bytes[digits + i] as number);
    }
    if (partCount === 0) return shown;
    bytes[start + wholeCount] = POINT;
    for (let i = wholeCount; i < wholeCount + partCount; i++) {
      bytes[start + 1 + i] = i < padCount ? DIGIT_0 : (bytes[digits + i] as number);
    }
    return shown;
  }

  /** As the node's double: a short text comes back as it is, and a whole number shows its point. */
  #printFloat(shown: PooledText): PooledText {
    const pool = this.#pool;
    const count = pool.byteCount(shown);
    if (count > EXACT_LENGTH_MAX) {
      const shortest = String(Number(pool.read(shown)));
      const isWhole = !shortest.includes('.') && !shortest.includes('e');
      return pool.passing.add(isWhole ? `${shortest}.0` : shortest);
    }
    const { bytes } = pool;
    const start = shown + HEADER_BYTES;
    for (let i = 0; i < count; i++) if (bytes[start + i] === POINT) return shown;
    const float = pool.passing.open(count + 2);
    for (let i = 0; i < count; i++) {
      pool.bytes[float + HEADER_BYTES + i] = bytes[start + i] as number;
    }
    pool.bytes[float + HEADER_BYTES + count] = POINT;
    pool.bytes[float + HEADER_BYTES + count + 1] = DIGIT_0;
    return float;
  }
}
