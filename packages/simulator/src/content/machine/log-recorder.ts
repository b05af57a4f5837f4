/**
 * The log of a transaction, recorded as orders for the JSON printer, with the limit of a node: a line is kept while the total stays below 10,000 bytes.
 * The first line that does not fit is replaced by a truncation mark, once. Later lines that are short enough are kept.
 */
import { ORDER } from '../text/json-printer.ts';
import type { PooledText, TextPool } from '../text/text-pool.ts';

const LOG_BYTES_END = 10_000;
/** A line has at least 13 bytes, and a few orders. */
const LINE_COUNT_MAX = 1024;
const ORDER_COUNT_MAX = 16 * 1024;
/** The number of digits that the remaining units nearly always have. */
const UNIT_DIGITS = 6;

export type LogRole =
  | ('invoke' | 'success' | 'failed' | 'consumed')
  | ('log' | 'data' | 'other')
  | 'mark';

type TextName = 'open' | 'between' | 'close' | 'none' | 'null' | 'mark';

export class LogRecorder {
  /** False for a transaction whose log was not stored. */
  isStored = true;
  /** The orders that print the lines as a JSON array, or `null` if the log was not stored. */
  readonly orders = new Int32Array(ORDER_COUNT_MAX);
  orderCount = 0;
  /** The index of the truncation mark among the lines; equal to the number of lines when the log is complete. */
  markIndex = 0;
  lineCount = 0;
  /** Whether nothing is recorded, for blocks that are run only for the state after them. */
  isMuted = false;
  /** For every line: its first order, the index of the call that printed it (in execution order; -1 for the mark), and its role. */
  readonly starts = new Int32Array(LINE_COUNT_MAX);
  readonly callers = new Int32Array(LINE_COUNT_MAX);
  readonly roles: LogRole[] = new Array(LINE_COUNT_MAX).fill('mark');
  /** The texts of lines that need escaping in JSON. */
  readonly raw = new Map<number, string>();
  readonly #pool: TextPool;
  /** The positions of the remaining units, which are filled in when the limit is known. */
  readonly #unitOffsets = new Int32Array(LINE_COUNT_MAX);
  readonly #unitsUsed = new Float64Array(LINE_COUNT_MAX);
  #unitCount = 0;
  #byteCount = 0;
  #size = 0;
  #isCut = false;
  readonly #texts: Readonly<Record<TextName, PooledText>>;

  constructor(pool: TextPool) {
    this.#pool = pool;
    const add = (text: string): PooledText => pool.lasting.add(text);
    this.#texts = {
      open: add('["'),
      between: add('","'),
      close: add('"]'),
      none: add('[]'),
      null: add('null'),
      mark: add('Log truncated'),
    };
  }

  begin(): void {
    this.isStored = true;
    this.orderCount = 0;
    this.lineCount = 0;
    this.#unitCount = 0;
    this.#byteCount = 0;
    this.#isCut = false;
    // Clearing a map allocates, even if the map is empty.
    if (this.raw.size > 0) this.raw.clear();
  }

  /** Starts a line. Its pieces follow, then `end`. */
  line(role: LogRole, caller: number): this {
    if (this.isMuted) return this;
    this.starts[this.lineCount] = this.orderCount;
    this.roles[this.lineCount] = role;
    this.callers[this.lineCount] = caller;
    this.#put(this.lineCount === 0 ? this.#texts.open : this.#texts.between, 0);
    this.#size = 0;
    return this;
  }

  text(text: PooledText): this {
    return this.#put(text, this.#pool.byteCount(text));
  }

  number(value: number): this {
    return this.#put(ORDER.number(value), digitCount(value));
  }

  /** Prints the remaining units after `used` units. */
  unitsLeft(used: number): this {
    this.#unitOffsets[this.#unitCount] = this.orderCount;
    this.#unitsUsed[this.#unitCount] = used;
    if (!this.isMuted) this.#unitCount++;
    return this.#put(0, UNIT_DIGITS);
  }

  base64(bytes: PooledText): this {
    return this.#put(ORDER.base64(bytes), Math.ceil(this.#pool.byteCount(bytes) / 3) * 4);
  }

  amount(value: number): this {
    if (this.isMuted) return this;
    const { passing } = this.#pool;
    const list = passing.openAmounts(1);
    passing.setAmount(list, 0, value);
    return this.#put(ORDER.amount(list), digitCount(value)).#put(0, 0);
  }

  /** Prints a text of any characters, which is the only piece of its line. */
  escaped(text: string): this {
    if (this.isMuted) return this;
    this.raw.set(this.lineCount, text);
    const order = this.#pool.passing.add(JSON.stringify(text).slice(1, -1));
    return this.#put(order, Buffer.byteLength(text));
  }

  end(): void {
    if (this.isMuted) return;
    if (this.#byteCount + this.#size < LOG_BYTES_END) {
      this.#byteCount += this.#size;
      this.lineCount++;
      return;
    }
    this.raw.delete(this.lineCount);
    this.orderCount = this.starts[this.lineCount] as number;
    while (this.#unitCount > 0 && this.#lastUnitOffset() >= this.orderCount) this.#unitCount--;
    if (this.#isCut) return;
    this.#isCut = true;
    this.markIndex = this.lineCount;
    this.line('mark', -1).text(this.#texts.mark);
    this.lineCount++;
  }

  finish(unitLimit: number): void {
    for (let i = 0; i < this.#unitCount; i++) {
      const left = unitLimit - (this.#unitsUsed[i] as number);
      this.orders[this.#unitOffsets[i] as number] = ORDER.number(left);
    }
    if (!this.#isCut) this.markIndex = this.lineCount;
    this.#put(this.lineCount === 0 ? this.#texts.none : this.#texts.close, 0);
  }

  /** Marks the log of this transaction as not stored. */
  drop(): void {
    this.begin();
    this.isStored = false;
    this.markIndex = 0;
    this.#put(this.#texts.null, 0);
  }

  #lastUnitOffset(): number {
    return this.#unitOffsets[this.#unitCount - 1] as number;
  }

  #put(order: number, size: number): this {
    if (this.isMuted) return this;
    this.orders[this.orderCount++] = order;
    this.#size += size;
    return this;
  }
}

/** Returns the number of decimal digits of a whole number. */
function digitCount(value: number): number {
  let count = 1;
  for (let end = 10; value >= end; end *= 10) count++;
  return count;
}
