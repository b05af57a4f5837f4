/** The signatures of the transactions of the rows: texts, which come first in the dictionary of the batch, or 64 bytes each. */
import type { ColumnReader } from '../make-column.ts';
import { type BatchMemory, noRange, type Pending, type Range } from './batch-memory.ts';

/** Which signatures a table has: none, or the first one of each transaction, or all. */
export type WantedSignatures = 'none' | 'first' | 'all';

/** The base58 text of 64 bytes is no longer than this. */
const textBytesMax = 88;
const byteCount = 64;

export class GatheredSignatures {
  /** The texts: their number, the start of each and the end of the last, and their bytes. */
  readonly count: number = 0;
  readonly starts: Range = noRange;
  readonly texts: Range = noRange;
  readonly #memory: BatchMemory;
  readonly #columns: ColumnReader;
  readonly #isBinary: boolean;
  /** The index of the first signature of each row. */
  readonly #indexes: Range = noRange;

  constructor(
    memory: BatchMemory,
    columns: ColumnReader,
    { wanted, isBinary }: { wanted: WantedSignatures; isBinary: boolean },
  ) {
    this.#memory = memory;
    this.#columns = columns;
    this.#isBinary = isBinary;
    if (isBinary || wanted === 'none') return;
    const { transactions, count } = memory.lists;
    const [bytes, starts] = [columns.stored('txSignatures').at, this.#starts];
    const isAll = wanted === 'all' ? 1 : 0;
    const most = isAll === 1 ? memory.exports.sumOfRanges(starts, transactions, count) : count;
    this.starts = memory.starts(most);
    this.#indexes = memory.reserve(count * 4);
    const texts = memory.reserve(most * textBytesMax);
    const source = [bytes, starts, transactions, count, isAll] as const;
    const target = [this.starts.at, texts.at, this.#indexes.at] as const;
    this.count = memory.exports.gatherSignatures(...source, ...target);
    this.texts = { at: texts.at, length: memory.int(this.starts.at, this.count) };
  }

  get #starts(): number {
    return this.#columns.made('signatureStarts').at;
  }

  /** The first signature of each row's transaction; null if it has none. */
  first(): Pending {
    const memory = this.#memory;
    const { transactions, count } = memory.lists;
    const [starts, valid] = [this.#starts, memory.validity()];
    const nulls = memory.exports.gatherUnsigned(starts, transactions, count, valid.at);
    if (!this.#isBinary) return () => memory.flat(nulls, valid, this.#indexes);
    const out = memory.reserve(count * byteCount);
    const { at: bytes } = this.#columns.stored('txSignatures');
    memory.exports.gatherSignatureBytes(bytes, starts, transactions, count, out.at);
    return () => memory.flat(nulls, valid, out);
  }

  /** The list of all signatures of each transaction. */
  all(): Pending {
    const memory = this.#memory;
    const { transactions, count } = memory.lists;
    const { gatherRanges, gatherSignatureLists, sumOfRanges } = memory.exports;
    const total = sumOfRanges(this.#starts, transactions, count);
    const starts = memory.starts();
    const out = memory.reserve(total * (this.#isBinary ? byteCount : 4));
    const source = [this.#starts, transactions, count, starts.at, out.at] as const;
    if (this.#isBinary) {
      const { at: bytes } = this.#columns.stored('txSignatures');
      gatherRanges(bytes, this.#starts, 6, transactions, count, starts.at, out.at);
    } else gatherSignatureLists(...source);
    return () => memory.list(count, starts, memory.data(total, 0, [noRange, out]));
  }
}
