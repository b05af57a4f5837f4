/**
 * Puts pooled texts and numbers one after the other, as bytes. What is to be printed is noted as a list of orders, a
 * word or two each, which the kernel carries out in one go: noting costs one store a piece, and no text is ever joined.
 */
import {
  type NumberList,
  type PooledText,
  TEXT_BYTES_MAX,
  type TextList,
  type TextPool,
} from './text-pool.ts';

// Codes of orders, in the low bits of a place or a number times 8. kernels/assembly/print.ts has the same.
const NUMBER = 1;
const NUMBERS = 2;
const TEXTS = 3;
const QUOTED = 4;

const ORDER_COUNT = 16 * 1024;
/** A block of the size of a full one fits; what does not is put aside piece by piece. */
const OUTPUT_BYTES = 12 * 1024 * 1024;

export class JsonPrinter {
  readonly pool: TextPool;
  readonly #ordersStart: number;
  readonly #outputStart: number;
  /** Beyond it there is room for what one more order prints. */
  readonly #outputLimit: number;
  /** As words of the memory: where the next order goes, and where there is no more room for one. */
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

  /** Whatever was printed before and not finished is forgotten. */
  begin(): void {
    this.#aside = [];
    this.#at = this.#ordersStart >> 2;
    this.#outputAt = this.#outputStart;
  }

  text(text: PooledText): void {
    if (this.#at === this.#end) this.flush();
    this.pool.words[this.#at++] = text;
  }

  /** A whole number from 0 to 2^28 - 1. */
  number(value: number): void {
    if (this.#at === this.#end) this.flush();
    this.pool.words[this.#at++] = (value << 3) | NUMBER;
  }

  /** With commas between them. */
  numbers(list: NumberList): void {
    if (this.#at === this.#end) this.flush();
    this.pool.words[this.#at++] = list | NUMBERS;
  }

  /** With commas between them. */
  texts(list: TextList): void {
    this.#order(list | TEXTS, this.pool.listCount(list) << 16);
  }

  /** From one place of the list to another, with `","` between them; the outer quotes are the caller's. */
  quoted(list: TextList, start: number, end: number): void {
    this.#order(list | QUOTED, start | (end << 16));
  }

  /** A text that is not in the pool. It is put among those that pass, so `forgetStrings` is not far. */
  string(text: string): void {
    this.text(this.pool.passing.add(text));
  }

  /** Prints what was ordered so far and makes room for other texts that pass. */
  forgetStrings(): void {
    this.flush();
    this.pool.passing.clear();
  }

  /** Carries out what was ordered so far: from here on texts may change. */
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

  /** All that was printed, in the room that is given. */
  finish(takeRoom: (byteCount: number) => Uint8Array): Uint8Array {
    this.flush();
    const pieces = [...this.#aside, this.pool.bytes.subarray(this.#outputStart, this.#outputAt)];
    const room = takeRoom(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      room.set(piece, at);
      at += piece.length;
    }
    return room;
  }

  /** An order of two words. */
  #order(first: number, second: number): void {
    if (this.#at + 2 > this.#end) this.flush();
    const { words } = this.pool;
    words[this.#at] = first;
    words[this.#at + 1] = second;
    this.#at += 2;
  }
}
