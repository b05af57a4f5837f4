/**
 * What a transaction's calls print, as orders for the printer, with the node's own limit: a line is kept while the bytes so far
 * and its own stay below 10,000; the first that does not fit leaves a mark, once, and shorter ones that fit still follow.
 */
import { ORDER } from '../json-printer.ts';
import type { LogRole, SimulatedLog } from '../simulated-block.ts';
import type { PooledText, TextPool } from '../text-pool.ts';

const LOG_BYTES_END = 10_000;
/** Lines have 13 bytes at least, and orders are a few a line. */
const LINE_COUNT_MAX = 1024;
const ORDER_COUNT_MAX = 16 * 1024;
/** The digits of the units that were left; nearly always so many. */
const UNIT_DIGITS = 6;

export class LogRecorder implements SimulatedLog {
  form: SimulatedLog['form'] = 'modern';
  readonly orders = new Int32Array(ORDER_COUNT_MAX);
  orderCount = 0;
  markIndex = 0;
  lineCount = 0;
  /** Nobody reads the log: blocks that are only run to know what they leave. */
  isMuted = false;
  readonly #pool: TextPool;
  /** Of every line its first order, the call that printed it, and its role. */
  readonly starts = new Int32Array(LINE_COUNT_MAX);
  readonly callers = new Int32Array(LINE_COUNT_MAX);
  readonly roles: LogRole[] = new Array(LINE_COUNT_MAX).fill('mark');
  /** The texts of lines that JSON escapes. */
  readonly raw = new Map<number, string>();
  /** Where the units that were left stand, to be written when the limit is known. */
  readonly #unitPlaces = new Int32Array(LINE_COUNT_MAX);
  readonly #unitsUsed = new Float64Array(LINE_COUNT_MAX);
  #unitCount = 0;
  #byteCount = 0;
  #size = 0;
  #isCut = false;
  readonly #open: PooledText;
  readonly #between: PooledText;
  readonly #close: PooledText;
  readonly #nothing: PooledText;
  readonly #null: PooledText;
  readonly #mark: PooledText;

  constructor(pool: TextPool) {
    this.#pool = pool;
    this.#open = pool.lasting.add('["');
    this.#between = pool.lasting.add('","');
    this.#close = pool.lasting.add('"]');
    this.#nothing = pool.lasting.add('[]');
    this.#null = pool.lasting.add('null');
    this.#mark = pool.lasting.add('Log truncated');
  }

  begin(): void {
    this.form = 'modern';
    this.orderCount = 0;
    this.lineCount = 0;
    this.#unitCount = 0;
    this.#byteCount = 0;
    this.#isCut = false;
    this.raw.clear();
  }

  /** Begins a line; its pieces follow, then `end`. */
  line(role: LogRole, caller: number): this {
    if (this.isMuted) return this;
    this.starts[this.lineCount] = this.orderCount;
    this.roles[this.lineCount] = role;
    this.callers[this.lineCount] = caller;
    this.#put(this.lineCount === 0 ? this.#open : this.#between);
    this.#size = 0;
    return this;
  }

  text(text: PooledText): this {
    if (this.isMuted) return this;
    this.#put(text);
    this.#size += this.#pool.words[text >> 2] as number;
    return this;
  }

  number(value: number): this {
    if (this.isMuted) return this;
    this.#put(ORDER.number(value));
    this.#size += value < 1000 ? (value < 10 ? 1 : value < 100 ? 2 : 3) : String(value).length;
    return this;
  }

  /** The units that are left when so many are used. */
  unitsLeft(used: number): this {
    if (this.isMuted) return this;
    this.#unitPlaces[this.#unitCount] = this.orderCount;
    this.#unitsUsed[this.#unitCount] = used;
    this.#unitCount++;
    this.#put(0);
    this.#size += UNIT_DIGITS;
    return this;
  }

  base64(bytes: PooledText): this {
    if (this.isMuted) return this;
    this.#put(ORDER.base64(bytes));
    this.#size += Math.ceil((this.#pool.words[bytes >> 2] as number) / 3) * 4;
    return this;
  }

  amount(value: number): this {
    if (this.isMuted) return this;
    const { passing } = this.#pool;
    const list = passing.openAmounts(1);
    passing.setAmount(list, 0, value);
    this.#put(ORDER.amount(list));
    this.#put(0);
    this.#size += String(value).length;
    return this;
  }

  /** A text of any characters; it is the only piece of its line. */
  escaped(text: string): this {
    if (this.isMuted) return this;
    this.raw.set(this.lineCount, text);
    this.#put(this.#pool.passing.add(JSON.stringify(text).slice(1, -1)));
    this.#size += Buffer.byteLength(text);
    return this;
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
    while (this.#unitCount > 0 && this.#lastUnitPlace() >= this.orderCount) this.#unitCount--;
    if (this.#isCut) return;
    this.#isCut = true;
    this.markIndex = this.lineCount;
    this.line('mark', -1).text(this.#mark);
    this.lineCount++;
  }

  finish(unitLimit: number): void {
    for (let i = 0; i < this.#unitCount; i++) {
      const left = unitLimit - (this.#unitsUsed[i] as number);
      this.orders[this.#unitPlaces[i] as number] = ORDER.number(left);
    }
    if (!this.#isCut) this.markIndex = this.lineCount;
    this.#put(this.lineCount === 0 ? this.#nothing : this.#close);
  }

  /** Nothing was recorded. */
  drop(): void {
    this.form = 'none';
    this.raw.clear();
    this.lineCount = 0;
    this.markIndex = 0;
    this.orders[0] = this.#null;
    this.orderCount = 1;
  }

  #lastUnitPlace(): number {
    return this.#unitPlaces[this.#unitCount - 1] as number;
  }

  #put(order: number): void {
    this.orders[this.orderCount++] = order;
  }
}
