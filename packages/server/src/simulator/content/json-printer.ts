/**
 * Prints pooled texts and numbers one after the other, as bytes. Each piece is stored as an order of one or two words; the kernel
 * carries out all orders in one call, so that no JavaScript strings are joined.
 */
import {
  ORDER_AMOUNTS as AMOUNTS,
  SHOWN_AS_DOUBLE as AS_DOUBLE,
  ORDER_BASE58 as BASE58,
  ORDER_BASE64 as BASE64,
  ORDER_CODE_BITS as CODE_BITS,
  ORDER_NUMBER as NUMBER,
  ORDER_NUMBERS as NUMBERS,
  ORDER_QUOTED as QUOTED,
  ORDER_SHOWN as SHOWN,
} from '../../kernels/layout/printing.ts';
import {
  type AmountList,
  type NumberList,
  type PooledText,
  TEXT_BYTES_MAX,
  type TextList,
  type TextPool,
} from './text-pool.ts';

const ORDER_COUNT = 16 * 1024;
/** A full block fits; the output of a larger one is put aside piece by piece. */
const OUTPUT_BYTES = 12 * 1024 * 1024;

export class JsonPrinter {
  readonly pool: TextPool;
  readonly #ordersStart: number;
  readonly #outputStart: number;
  /** Beyond this limit there is still space for the output of one order. */
  readonly #outputLimit: number;
  /** As indexes of words: of the next order, and of the end of the orders. */
  #at: number;
  readonly #end: number;
  #outputAt: number;
  #aside: Uint8Array[] = [];

  constructor(pool: TextPool) {
    this.pool = pool;
    this.#ordersStart = pool.reserve(ORDER_COUNT * 4);
    this.#outputStart = pool.reserve(OUTPUT_BYTES + TEXT_BYTES_MAX + 64);
    this.#outputLimit = this.#outputStart + OUTPUT_BYTES;
    this.#at = this.#ordersStart >> 2;
    this.#end = this.#at + ORDER_COUNT;
    this.#outputAt = this.#outputStart;
  }

  /** Discards what was printed before and not finished. */
  begin(): void {
    this.#aside = [];
    this.#at = this.#ordersStart >> 2;
    this.#outputAt = this.#outputStart;
  }

  text(text: PooledText): this {
    return this.#order(text);
  }

  /** A whole number from 0 to 2^28 - 1. */
  number(value: number): this {
    return this.#order((value << CODE_BITS) | NUMBER);
  }

  /** With commas between them. */
  numbers(list: NumberList): this {
    return this.#order(list | NUMBERS);
  }

  /** With commas between them. */
  amounts(list: AmountList): this {
    return this.#order(list | AMOUNTS);
  }

  /** The bytes of a text, in base58. */
  base58(bytes: PooledText): this {
    return this.#order(bytes | BASE58);
  }

  /** The first amount of a list, in whole tokens; `isDouble` for the form of a node's doubles. */
  shown(list: AmountList, decimals: number, isDouble: boolean): this {
    return this.#orderTwo(list | SHOWN, isDouble ? decimals | AS_DOUBLE : decimals);
  }

  /** Orders that were written down elsewhere, in the same form. */
  orders(list: Int32Array, start: number, end: number): this {
    if (this.#at + end - start > this.#end) this.flush();
    const { words } = this.pool;
    let at = this.#at;
    for (let i = start; i < end; i++) words[at++] = list[i] as number;
    this.#at = at;
    return this;
  }

  /** From one place of the list to another, with `","` between them; the outer quotes are the caller's. */
  quoted(list: TextList, start: number, end: number): this {
    return this.#orderTwo(list | QUOTED, start | (end << 16));
  }

  /** A text that is not in the pool. It is added to the passing ones until `forgetStrings`. */
  string(text: string): this {
    return this.text(this.pool.passing.add(text));
  }

  /** Carries out all orders and drops the passing texts. */
  forgetStrings(): void {
    this.flush();
    this.pool.passing.clear();
  }

  /** Carries out all orders; after that their texts may change. */
  flush(): void {
    const { exports } = this.pool.kernel;
    const end = this.#at * 4;
    let at = this.#ordersStart;
    for (;;) {
      this.#outputAt = exports.print(at, end, this.#outputAt, this.#outputLimit);
      at = exports.stoppedAt();
      if (at === end) break;
      this.#aside.push(Buffer.from(this.pool.bytes.subarray(this.#outputStart, this.#outputAt)));
      this.#outputAt = this.#outputStart;
    }
    this.#at = this.#ordersStart >> 2;
  }

  /** How many bytes were printed since the beginning. */
  position(): number {
    this.flush();
    return this.#aside.reduce(
      (sum, piece) => sum + piece.length,
      this.#outputAt - this.#outputStart,
    );
  }

  /**
   * Returns all that was printed. The part from `split.from` on is moved to `split.to`: a block has its rewards before its
   * transactions, whose fees they share out.
   */
  finish(split?: { readonly to: number; readonly from: number }): Uint8Array {
    this.flush();
    const last = this.pool.bytes.subarray(this.#outputStart, this.#outputAt);
    const whole = this.#aside.length === 0 ? last : Buffer.concat([...this.#aside, last]);
    const { to, from } = split ?? { to: whole.length, from: whole.length };
    return Buffer.concat([whole.subarray(0, to), whole.subarray(from), whole.subarray(to, from)]);
  }

  #order(order: number): this {
    if (this.#at === this.#end) this.flush();
    this.pool.words[this.#at++] = order;
    return this;
  }

  /** An order of two words. */
  #orderTwo(first: number, second: number): this {
    if (this.#at + 2 > this.#end) this.flush();
    const { words } = this.pool;
    words[this.#at] = first;
    words[this.#at + 1] = second;
    this.#at += 2;
    return this;
  }
}

/** Orders for a list that `orders` prints later. */
export const ORDER = {
  number: (value: number): number => (value << CODE_BITS) | NUMBER,
  base64: (bytes: PooledText): number => bytes | BASE64,
  /** Followed by a word of 0. */
  amount: (list: AmountList): number => list | SHOWN,
};
