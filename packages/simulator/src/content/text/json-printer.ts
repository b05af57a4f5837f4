/**
 * Prints pooled texts and numbers one after the other as bytes. Each piece is stored as an order of one or two words. The kernel executes
 * all orders in one call, so that no JavaScript strings are concatenated.
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
/** A full block fits. The output of a larger one is copied to JavaScript memory in pieces. */
const OUTPUT_BYTES = 12 * 1024 * 1024;

export class JsonPrinter {
  readonly pool: TextPool;
  readonly #ordersStart: number;
  readonly #outputStart: number;
  /** Beyond this limit there is still enough memory for the output of one order. */
  readonly #outputLimit: number;
  /** The word indexes of the next order and of the end of the orders. */
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

  /** Discards everything that was printed since the last `finish`. */
  begin(): void {
    this.#aside = [];
    this.#at = this.#ordersStart >> 2;
    this.#outputAt = this.#outputStart;
  }

  text(text: PooledText): this {
    return this.#order(text);
  }

  /** Prints a whole number from 0 to 2^28 - 1. */
  number(value: number): this {
    return this.#order(ORDER.number(value));
  }

  /** Prints numbers with commas between them. */
  numbers(list: NumberList): this {
    return this.#order(list | NUMBERS);
  }

  /** Prints amounts with commas between them. */
  amounts(list: AmountList): this {
    return this.#order(list | AMOUNTS);
  }

  /** Prints the bytes of a text in base58. */
  base58(bytes: PooledText): this {
    return this.#order(bytes | BASE58);
  }

  /** Prints the first amount of a list in whole tokens; with `isDouble` in the form of a node's doubles. */
  shown(list: AmountList, decimals: number, isDouble: boolean): this {
    return this.#orderTwo(list | SHOWN, isDouble ? decimals | AS_DOUBLE : decimals);
  }

  /** Appends orders that were recorded elsewhere in the same form. */
  orders(list: Int32Array, start: number, end: number): this {
    if (this.#at + end - start > this.#end) this.flush();
    const { words } = this.pool;
    let at = this.#at;
    for (let i = start; i < end; i++) words[at++] = list[i] as number;
    this.#at = at;
    return this;
  }

  /** Prints the texts from one index of the list to another, with `","` between them. The caller prints the outer quotes. */
  quoted(list: TextList, start: number, end: number): this {
    return this.#orderTwo(list | QUOTED, start | (end << 16));
  }

  /** Prints a text that is not in the pool. It is kept in the region `passing` until `forgetStrings`. */
  string(text: string): this {
    return this.text(this.pool.passing.add(text));
  }

  /** Executes all orders and drops the texts of `passing`. */
  forgetStrings(): void {
    this.flush();
    this.pool.passing.clear();
  }

  /** Executes all orders. After that their texts may change. */
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

  /** Returns the number of bytes that were printed since `begin`. */
  position(): number {
    this.flush();
    const unmoved = this.#outputAt - this.#outputStart;
    return this.#aside.reduce((sum, piece) => sum + piece.length, unmoved);
  }

  /**
   * Returns everything that was printed. The part from `split.from` on is moved to `split.to`: in a block the rewards come before the
   * transactions, but are known after them.
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

  #orderTwo(first: number, second: number): this {
    if (this.#at + 2 > this.#end) this.flush();
    const { words } = this.pool;
    words[this.#at] = first;
    words[this.#at + 1] = second;
    this.#at += 2;
    return this;
  }
}

/** Encodes orders for a list that `orders` prints later. */
export const ORDER = {
  number: (value: number): number => (value << CODE_BITS) | NUMBER,
  base64: (bytes: PooledText): number => bytes | BASE64,
  /** A word of 0 must follow. */
  amount: (list: AmountList): number => list | SHOWN,
};
