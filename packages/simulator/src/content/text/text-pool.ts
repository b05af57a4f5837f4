/**
 * The texts of simulated blocks, stored as bytes in the memory of the kernel that prints them. A text is represented by its offset in
 * that memory, so that it needs no JavaScript string.
 *
 *   lasting: texts that blocks share (addresses, log lines, parts of JSON), until the pool is dropped
 *   passing: texts of one transaction, until the next one is generated
 */
import { assert } from '@sluice/base/assert';
import type { Brand } from '@sluice/base/brand';
import { ensureMemory, instantiateKernel, type Kernel } from '@sluice/base/wasm-kernel';
import { workerUrl } from '@sluice/base/worker-url';

/** The offset of a text: its length, then its bytes. Valid in one pool, until the region of the text is cleared. */
export type PooledText = Brand<number, 'PooledText'>;

/** Stands for no text. Texts have greater offsets. */
export const NO_TEXT = 0 as PooledText;

/** Reads a text from a table of texts. An empty entry is `NO_TEXT`. */
export function pooledTextAt(texts: Int32Array, index: number): PooledText {
  return texts[index] as PooledText;
}

/** The offset of a list of texts: its size in bytes, then one word per text with its offset. */
export type TextList = Brand<number, 'TextList'>;

/** The offset of a list of numbers below 256: a text whose bytes are the numbers. */
export type NumberList = Brand<number, 'NumberList'>;

/** The offset of a list of 64-bit integers: a text of eight bytes each, little-endian. */
export type AmountList = Brand<number, 'AmountList'>;

/** The size of the length before the bytes of a text. */
export const HEADER_BYTES = 4;

/** The maximum length of a text: a log has at most 10,000 bytes, and escaping a byte gives at most six. */
export const TEXT_BYTES_MAX = 128 * 1024;
/** The size of the texts of one transaction: its log, and at most some dozens of instruction data of 1,232 bytes. */
const PASSING_BYTES = 1024 * 1024;
/** The memory grows by this much at a time. */
const GROWTH_BYTES = 1024 * 1024;
/** Texts are copied 16 bytes at a time, so the memory continues after the last text. */
const SLACK_BYTES = 64;

export interface PrintExports {
  memoryStart(): number;
  print(at: number, end: number, out: number, limit: number): number;
  stoppedAt(): number;
  /** Returns the offset after the last digit. */
  encodeBase58(bytes: number, count: number, out: number): number;
}

export class TextPool {
  readonly kernel: Kernel<PrintExports>;
  /** The whole memory as bytes and as words. It is replaced when the memory grows, which can happen whenever a lasting text is added. */
  bytes: Buffer;
  words: Int32Array;
  readonly lasting: TextRegion;
  readonly passing: TextRegion;
  readonly #start: number;
  #end: number;

  constructor() {
    this.kernel = instantiateKernel<PrintExports>(
      workerUrl(import.meta.url, '../../kernels/print.wasm'),
    );
    this.bytes = Buffer.from(this.kernel.memory.buffer);
    this.words = new Int32Array(this.kernel.memory.buffer);
    this.#start = this.kernel.exports.memoryStart();
    this.#end = this.#start;
    this.passing = new TextRegion(this, PASSING_BYTES);
    this.lasting = new TextRegion(this, 0);
  }

  /** The size of the lasting texts and of the reserved memory. */
  get size(): number {
    return this.#end - this.#start;
  }

  /** Reserves memory for the lifetime of the pool, aligned to 64 bytes. */
  reserve(byteCount: number): number {
    const start = this.#end;
    this.#end = Math.ceil((start + byteCount) / SLACK_BYTES) * SLACK_BYTES;
    const { memory } = this.kernel;
    if (this.#end + SLACK_BYTES > memory.buffer.byteLength) {
      ensureMemory(memory, this.#end + SLACK_BYTES + GROWTH_BYTES);
      this.bytes = Buffer.from(memory.buffer);
      this.words = new Int32Array(memory.buffer);
    }
    return start;
  }

  byteCount(text: PooledText | NumberList | AmountList): number {
    return this.words[text >> 2] as number;
  }

  read(text: PooledText): string {
    const start = text + HEADER_BYTES;
    return this.bytes.toString('utf8', start, start + this.byteCount(text));
  }
}

/** A part of the pool that is filled from its start. */
export class TextRegion {
  readonly pool: TextPool;
  #start: number;
  #at: number;
  #end: number;
  readonly #isFixed: boolean;

  /** Creates a region of a fixed size; 0 for a region that grows with the pool. */
  constructor(pool: TextPool, byteCount: number) {
    this.pool = pool;
    this.#start = pool.reserve(byteCount);
    this.#at = this.#start;
    this.#end = this.#start + byteCount;
    this.#isFixed = byteCount > 0;
  }

  /** Drops all texts of the region. */
  clear(): void {
    assert(this.#isFixed, 'only the region of a transaction is cleared');
    this.#at = this.#start;
  }

  /** Adds a text of a given length. The caller writes its bytes from `HEADER_BYTES` on. */
  open(byteCount: number): PooledText {
    return this.#open(byteCount) as PooledText;
  }

  /** Adds a list of texts. The caller writes their offsets as words from `HEADER_BYTES` on. */
  openList(count: number): TextList {
    return this.#open(count * 4) as TextList;
  }

  /** Adds a list of numbers. The caller writes them as bytes from `HEADER_BYTES` on. */
  openNumbers(count: number): NumberList {
    return this.#open(count) as NumberList;
  }

  /** Adds a list of amounts. The caller writes them with `setAmount`. */
  openAmounts(count: number): AmountList {
    return this.#open(count * 8) as AmountList;
  }

  /** Writes a whole number from 0 to 2^53 - 1 into a list of amounts. */
  setAmount(list: AmountList, index: number, value: number): void {
    const at = (list + HEADER_BYTES + index * 8) >> 2;
    const high = Math.floor(value / 4_294_967_296);
    this.pool.words[at] = value - high * 4_294_967_296;
    this.pool.words[at + 1] = high;
  }

  add(text: string): PooledText {
    const byteCount = Buffer.byteLength(text);
    const pooled = this.open(byteCount);
    this.pool.bytes.write(text, pooled + HEADER_BYTES, byteCount, 'utf8');
    return pooled;
  }

  #open(byteCount: number): number {
    const offset = this.#at;
    const end = (offset + byteCount + (HEADER_BYTES + 7)) & -8;
    if (end > this.#end) return this.#openElsewhere(byteCount);
    this.#at = end;
    this.pool.words[offset >> 2] = byteCount;
    return offset;
  }

  #openElsewhere(byteCount: number): number {
    assert(byteCount <= TEXT_BYTES_MAX, 'a text is not longer than the printer takes');
    assert(!this.#isFixed, 'the texts of one transaction fit into their region');
    this.#start = this.pool.reserve(GROWTH_BYTES);
    this.#at = this.#start;
    this.#end = this.#start + GROWTH_BYTES;
    return this.#open(byteCount);
  }
}
