/** The selected rows of one record batch, whose values the kernel `gather.ts` copies into the buffers of Arrow columns. */
import { type ColumnData, intLists } from '@sluice/arrow/arrow-type';
import { assert } from '@sluice/base/assert';
import type { EngineExports } from '@sluice/kernels/engine-exports';
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import type { DecodedInstruction } from '../../query/query.ts';
import { LOG_KIND_CODES } from '../../segment/layout/columns.ts';
import type { EngineKernel } from '../engine-kernel.ts';
import type { EngineSegment } from '../engine-segment.ts';
import type { ColumnReader } from '../make-column.ts';
import type { RowDecoder } from '../row-decoder.ts';
import type { Scratch } from '../scratch.ts';
import type { Step, StepOperands } from '../steps.ts';
import {
  appendTexts,
  BlockValues,
  keyByteCount,
  type Pending,
  type RowLists,
  readKeyBytes,
} from './block-values.ts';
import { SpreadRows, TypedRows } from './typed-columns.ts';

export interface GatheredRowsOptions {
  readonly open: EngineSegment;
  readonly kernel: EngineKernel;
  readonly scratch: Scratch;
  /** Undefined for blocks, which have no columns. */
  readonly columns: ColumnReader | undefined;
  readonly lists: RowLists;
  readonly bind: ((step: Step) => StepOperands) | undefined;
  readonly isBinary: boolean;
  /** The address of the list of the ids of distinct keys. */
  readonly distinct: number;
  readonly decoder: (() => RowDecoder) | undefined;
}

/** A part of the kernel's memory. */
interface Range {
  readonly at: number;
  readonly length: number;
}

const noRange: Range = { at: 0, length: 0 };
/** The base58 text of 64 bytes is no longer than this. */
const signatureTextBytesMax = 88;
const signatureByteCount = 64;

export class GatheredRows {
  readonly #options: GatheredRowsOptions;
  readonly #exports: EngineExports;
  readonly #lists: RowLists;
  readonly #count: number;
  readonly blocks: BlockValues;

  constructor(options: GatheredRowsOptions) {
    this.#options = options;
    this.#exports = options.kernel.exports;
    this.#lists = options.lists;
    this.#count = options.lists.count;
    const { open, lists, isBinary } = options;
    const { keyCount } = this.#exports;
    this.blocks = new BlockValues({ segment: open.segment, runs: lists.runs, isBinary, keyCount });
  }

  bind(step: Step): StepOperands {
    const { bind } = this.#options;
    assert(bind !== undefined, 'only records have steps');
    return bind(step);
  }

  ints({ p0, w0 }: StepOperands, plus = 0): Pending {
    return this.#intsOf({ p0, w0 }, plus, this.#lists.rows);
  }

  transactionInts(operands: StepOperands): Pending {
    return this.#intsOf(operands, 0, this.#lists.transactions);
  }

  #intsOf({ p0, w0 }: StepOperands, plus: number, rows: number): Pending {
    const out = this.#reserve(this.#count * 4);
    this.#exports.gatherInts(p0, w0, plus, rows, this.#count, out.at);
    return () => this.#flat(0, noRange, out);
  }

  intsOrNull({ p0, w0 }: StepOperands): Pending {
    const [out, valid] = [this.#reserve(this.#count * 4), this.#validity()];
    const { rows, count } = this.#lists;
    const nulls = this.#exports.gatherIntsOrNull(p0, w0, rows, count, out.at, valid.at);
    return () => this.#flat(nulls, valid, out);
  }

  longs({ p0, w0, p1 = 0, p2 = 0, p3 = 0 }: StepOperands): Pending {
    const { rows, count } = this.#lists;
    const [out, valid] = [this.#reserve(count * 8), this.#validity()];
    this.#exports.gatherLongs(p0, w0, rows, count, out.at);
    const nulls = p1 === 0 ? 0 : this.#exports.gatherNulls(p1, p3, p2, rows, count, valid.at);
    return () => this.#flat(nulls, valid, out);
  }

  flags({ p0, w0, p2 = 0 }: StepOperands): Pending {
    const out = this.#reserveZeroed(Math.ceil(this.#count / 8));
    this.#exports.gatherFlags(p0, w0, p2, this.#lists.rows, this.#count, out.at);
    return () => this.#flat(0, noRange, out);
  }

  outcomes({ p0, w0 }: StepOperands): Pending {
    const { rows, count } = this.#lists;
    const [out, valid] = [this.#reserveZeroed(Math.ceil(count / 8)), this.#validity()];
    const nulls = this.#exports.gatherOutcomes(p0, w0, rows, count, out.at, valid.at);
    return () => this.#flat(nulls, valid, out);
  }

  keys({ p0, w0 }: StepOperands): Pending {
    const { rows, transactions, count } = this.#lists;
    const out = this.#reserve(count * 4);
    this.#exports.gatherKeys(p0, w0, rows, transactions, count, out.at);
    return () => this.#keyColumn(count, 0, noRange, out);
  }

  keysOrNull({ p0, w0 }: StepOperands): Pending {
    const { rows, transactions, count } = this.#lists;
    const [out, valid] = [this.#reserve(count * 4), this.#validity()];
    const { gatherKeysOrNull } = this.#exports;
    const nulls = gatherKeysOrNull(p0, w0, rows, transactions, count, out.at, valid.at);
    return () => this.#keyColumn(count, nulls, valid, out);
  }

  payers({ p0, w0 }: StepOperands): Pending {
    const { transactions, count } = this.#lists;
    const [out, valid] = [this.#reserve(count * 4), this.#validity()];
    const nulls = this.#exports.gatherPayers(p0, w0, transactions, count, out.at, valid.at);
    return () => this.#keyColumn(count, nulls, valid, out);
  }

  keyIds({ p0, w0 }: StepOperands): Pending {
    const out = this.#reserve(this.#count * 4);
    this.#exports.gatherKeyIds(p0, w0, this.#lists.rows, this.#count, out.at);
    return () => this.#keyColumn(this.#count, 0, noRange, out);
  }

  keyLists({ p0, w0, p1 = 0 }: StepOperands): Pending {
    const { rows, transactions, count } = this.#lists;
    const total = this.#exports.sumOfRanges(p1, rows, count);
    const [starts, out] = [this.#starts(), this.#reserve(total * 4)];
    this.#exports.gatherKeyLists(p0, w0, p1, rows, transactions, count, starts.at, out.at);
    return () => this.#list(starts, this.#keyColumn(total, 0, noRange, out));
  }

  staticKeys(): Pending {
    return this.#keyRange(0, 0, this.#columns.stored('txStaticCount').at);
  }

  loadedAddresses(): readonly Pending[] {
    const { at: statics } = this.#columns.stored('txStaticCount');
    const { at: writable } = this.#columns.stored('txWritableCount');
    const { at: readonly } = this.#columns.stored('txReadonlyCount');
    return [this.#keyRange(statics, 0, writable), this.#keyRange(statics, writable, readonly)];
  }

  /** Keys of the lists of transactions, by columns of counts: those to skip, more to skip, and those to take. */
  #keyRange(skip: number, skipMore: number, lengths: number): Pending {
    const { transactions, count } = this.#lists;
    let total = 0;
    for (let i = 0; i < count; i++) total += this.#int(lengths, this.#int(transactions, i));
    const [starts, out] = [this.#starts(), this.#reserve(total * 4)];
    const { gatherKeyRanges } = this.#exports;
    gatherKeyRanges(skip, skipMore, lengths, 4, transactions, count, starts.at, out.at);
    return () => this.#list(starts, this.#keyColumn(total, 0, noRange, out));
  }

  escapedTexts({ p0, p1 = 0 }: StepOperands): Pending {
    const { rows, count } = this.#lists;
    const starts = this.#starts();
    const out = this.#reserve(this.#exports.sumOfRanges(p1, rows, count));
    this.#exports.gatherEscaped(p0, p1, rows, count, starts.at, out.at);
    return () => this.#texts(0, noRange, starts, out);
  }

  /** Texts of JSON by their code. `isText` says whether they are JSON strings. */
  codedTexts({ p0, w0, p1 = 0, p2 = 0 }: StepOperands, isText: boolean): Pending {
    const { rows, count } = this.#lists;
    const codes = this.#reserve(count * 4);
    this.#exports.gatherInts(p0, w0, 0, rows, count, codes.at);
    const [starts, valid] = [this.#starts(), this.#validity()];
    const out = this.#reserve(this.#exports.sumOfRanges(p1, codes.at, count));
    const ranges = [p2, p1, isText ? 1 : 0, rows, count] as const;
    const nulls = this.#exports.gatherCoded(p0, w0, ...ranges, starts.at, out.at, valid.at);
    return () => this.#texts(nulls, valid, starts, out);
  }

  logKinds({ p0, w0 }: StepOperands): Pending {
    const texts = Object.keys(LOG_KIND_CODES).map((kind) => `"${kind}"`);
    const bytes = this.#reserve(texts.join('').length);
    const starts = this.#reserve((texts.length + 1) * 4);
    const { kernel } = this.#options;
    let at = 0;
    for (const [code, text] of texts.entries()) {
      kernel.ints[starts.at / 4 + code] = at;
      kernel.bytes.set(Buffer.from(text), bytes.at + at);
      at += text.length;
    }
    kernel.ints[starts.at / 4 + texts.length] = at;
    return this.codedTexts({ p0, w0, p1: starts.at, p2: bytes.at }, true);
  }

  bytes({ p0, p1 = 0 }: StepOperands): Pending {
    const { rows, count } = this.#lists;
    const starts = this.#starts();
    const out = this.#reserve(this.#exports.sumOfRanges(p1, rows, count));
    this.#exports.gatherRanges(p0, p1, 0, rows, count, starts.at, out.at);
    return () => this.#texts(0, noRange, starts, out);
  }

  /** Texts of JSON, of which `null` is a null. */
  jsonTexts({ p0, p1 = 0 }: StepOperands): Pending {
    const { rows, count } = this.#lists;
    const [starts, valid] = [this.#starts(), this.#validity()];
    const out = this.#reserve(this.#exports.sumOfRanges(p1, rows, count));
    this.#exports.gatherRanges(p0, p1, 0, rows, count, starts.at, out.at);
    const nulls = this.#exports.gatherNullTexts(p0, p1, rows, count, valid.at);
    return () => this.#texts(nulls, valid, starts, out);
  }

  hex({ p0, p1 = 0, p2 = 0 }: StepOperands): Pending {
    const { rows, count } = this.#lists;
    const [starts, valid] = [this.#starts(), this.#validity()];
    const out = this.#reserve(count * (2 + p2 * 2));
    const { gatherHex } = this.#exports;
    const nulls = gatherHex(p0, p1, p2, rows, count, starts.at, out.at, valid.at);
    return () => this.#texts(nulls, valid, starts, out);
  }

  paths({ p0, p1 = 0 }: StepOperands): Pending {
    return this.#paths(p0, p1, { p0: 0, w0: 0 }, 0);
  }

  /** The addresses of the instructions that wrote logs. */
  pathsOfLogs({ p0, w0, p1 = 0, p2 = 0, p3 = 0 }: StepOperands): Pending {
    return this.#paths(p3, p1, { p0, w0 }, p2);
  }

  #paths(texts: number, textStarts: number, { p0, w0 }: StepOperands, first: number): Pending {
    const { rows, transactions, count } = this.#lists;
    // A number takes at least two characters of the text with the sign that follows it.
    let length = 0;
    for (let i = 0; i < count; i++) {
      const own = this.#int(rows, i);
      const row =
        first === 0 ? own : this.#int(first, this.#int(transactions, i)) + this.#int(p0, own);
      length += this.#int(textStarts, row + 1) - this.#int(textStarts, row);
    }
    const [starts, out] = [this.#starts(), this.#reserve(length * 2)];
    const from = [texts, textStarts, p0, w0, first] as const;
    const { gatherPaths } = this.#exports;
    const total = gatherPaths(...from, rows, transactions, count, starts.at, out.at);
    const values = { at: out.at, length: total * 4 };
    return () => this.#list(starts, this.#data(total, 0, [noRange, values]));
  }

  /** The first signature of each row's transaction; null if it has none. */
  firstSignatures(): Pending {
    return this.#firstSignatures().column;
  }

  /** The first signature of each transaction, and the list of all. */
  signatures(): readonly Pending[] {
    const { transactions, count } = this.#lists;
    const { at: bytes } = this.#columns.stored('txSignatures');
    const { at: signatureStarts } = this.#columns.made('signatureStarts');
    const total = this.#exports.sumOfRanges(signatureStarts, transactions, count);
    const first = this.#firstSignatures();
    const starts = this.#starts();
    if (this.#options.isBinary) {
      const out = this.#reserve(total * signatureByteCount);
      const { gatherRanges } = this.#exports;
      gatherRanges(bytes, signatureStarts, 6, transactions, count, starts.at, out.at);
      return [first.column, () => this.#list(starts, this.#data(total, 0, [noRange, out]))];
    }
    const textStarts = this.#reserve((total + 1) * 4);
    const out = this.#reserve(total * signatureTextBytesMax);
    const source = [bytes, signatureStarts, transactions, count] as const;
    const known = [first.starts.at, first.out.at] as const;
    const target = [starts.at, textStarts.at, out.at] as const;
    this.#exports.gatherSignatureLists(...source, ...known, ...target);
    return [
      first.column,
      () => {
        const used = this.#used(textStarts, total, out);
        return this.#list(starts, this.#data(total, 0, [noRange, textStarts, used]));
      },
    ];
  }

  #firstSignatures(): { column: Pending; starts: Range; out: Range } {
    const { transactions, count } = this.#lists;
    const { at: bytes } = this.#columns.stored('txSignatures');
    const { at: signatureStarts } = this.#columns.made('signatureStarts');
    const [starts, valid] = [this.#starts(), this.#validity()];
    const { isBinary } = this.#options;
    const unit = isBinary ? signatureByteCount : signatureTextBytesMax;
    const out = this.#reserve(count * unit);
    const { gatherFirstSignatures } = this.#exports;
    const source = [bytes, signatureStarts, transactions, count, isBinary ? 1 : 0] as const;
    const nulls = gatherFirstSignatures(...source, starts.at, out.at, valid.at);
    const column = () =>
      isBinary ? this.#flat(nulls, valid, out) : this.#texts(nulls, valid, starts, out);
    return { column, starts, out };
  }

  lookups(): Pending {
    const { transactions, count } = this.#lists;
    const key = this.#columns.stored('lookupKey');
    const readonlyCounts = this.#columns.stored('lookupReadonlyCount').at;
    const indexStarts = this.#columns.made('lookupIndexStarts').at;
    const indexes = this.#columns.stored('lookupIndexes').at;
    const lookupStarts = this.#columns.made('lookupStarts').at;
    const total = this.#exports.sumOfRanges(lookupStarts, transactions, count);
    const starts = this.#starts();
    const [rows, owners] = [this.#reserve(total * 4), this.#reserve(total * 4)];
    const keys = this.#reserve(total * 4);
    const { ints } = this.#options.kernel;
    const lists: Record<'readonly' | 'writable', { values: number[]; ends: number[] }> = {
      readonly: { values: [], ends: [0] },
      writable: { values: [], ends: [0] },
    };
    let at = 0;
    for (let i = 0; i < count; i++) {
      const transaction = this.#int(transactions, i);
      const end = this.#int(lookupStarts, transaction + 1);
      ints[starts.at / 4 + i] = at;
      for (let row = this.#int(lookupStarts, transaction); row < end; row++) {
        ints[rows.at / 4 + at] = row;
        ints[owners.at / 4 + at++] = transaction;
        const first = this.#int(indexStarts, row);
        const middle = first + this.#int(readonlyCounts, row);
        const last = this.#int(indexStarts, row + 1);
        for (let k = first; k < last; k++) {
          const { values } = k < middle ? lists.readonly : lists.writable;
          values.push(this.#int(indexes, k));
        }
        for (const { values, ends } of [lists.readonly, lists.writable]) ends.push(values.length);
      }
    }
    ints[starts.at / 4 + count] = at;
    this.#exports.gatherKeys(key.at, key.width, rows.at, owners.at, total, keys.at);
    const children = [lists.readonly, lists.writable].map(({ values, ends }) =>
      intLists(values, ends),
    );
    return () =>
      this.#list(starts, {
        length: total,
        nullCount: 0,
        buffers: [noBytes],
        children: [this.#keyColumn(total, 0, noRange, keys), ...children],
      });
  }

  /** The arguments and accounts of an instruction, and why a row has none. */
  typed(decoded: DecodedInstruction): readonly Pending[] {
    const { decoder } = this.#options;
    assert(decoder !== undefined, 'only records are decoded');
    const typed = new TypedRows(decoded, this.#count);
    decoder().readTyped(typed, this.#lists);
    const accounts = typed.accounts.map((positions) => this.#accountKeys(positions));
    return [...typed.argumentColumns(), ...accounts, typed.errorColumn()];
  }

  /** Keys of the lists of accounts of instructions, by the position in each list, or -1. */
  #accountKeys(positions: Int32Array): Pending {
    const { rows, transactions, count } = this.#lists;
    const { at, width } = this.#columns.stored('insAccounts');
    const { at: starts } = this.#columns.made('accountStarts');
    const given = this.#reserve(count * 12).at;
    const [owners, found] = [given + count * 4, given + count * 8];
    const [out, valid] = [this.#reserveZeroed(count * 4), this.#validity()];
    const spread = new SpreadRows(positions, this.#options.kernel.ints);
    const givenCount = spread.collect({ rows, transactions, starts }, { given, owners });
    this.#exports.gatherKeys(at, width, given, owners, givenCount, found);
    spread.distribute(found, out.at);
    this.#options.kernel.bytes.set(spread.validity.bits, valid.at);
    return () => this.#keyColumn(count, count - givenCount, valid, out);
  }

  /** Returns the dictionary of the batch. It reserves memory of the kernel. */
  dictionary(): Pending {
    const count = this.#exports.keyCount();
    const starts = this.#reserve((count + 1) * 4);
    const out = this.#reserve(count * KEY_TEXT_BYTES);
    const length = this.#exports.copyKeyTexts(starts.at, out.at);
    const added = [...this.blocks.texts.keys()];
    return () => {
      if (added.length === 0)
        return this.#data(count, 0, [noRange, starts, { at: out.at, length }]);
      const known = this.#options.kernel.ints.subarray(starts.at / 4, starts.at / 4 + count + 1);
      return appendTexts(known, this.#view({ at: out.at, length }), added);
    };
  }

  get #columns(): ColumnReader {
    const { columns } = this.#options;
    assert(columns !== undefined, 'only records have columns');
    return columns;
  }

  /** Returns a value of a column or list of 32-bit integers. */
  #int(address: number, i: number): number {
    return this.#options.kernel.ints[address / 4 + i] ?? 0;
  }

  #reserve(length: number): Range {
    return { at: this.#options.scratch.reserve(length), length };
  }

  #reserveZeroed(length: number): Range {
    return { at: this.#options.scratch.reserveZeroed(length), length };
  }

  #starts(): Range {
    return this.#reserve((this.#count + 1) * 4);
  }

  /** Bits that say for each row that it is not null. */
  #validity(): Range {
    const range = this.#reserve(Math.ceil(this.#count / 8));
    this.#options.kernel.bytes.fill(0xff, range.at, range.at + range.length);
    return range;
  }

  #view({ at, length }: Range): Uint8Array {
    return this.#options.kernel.bytes.subarray(at, at + length);
  }

  /** Returns the part of a buffer that has values. It ends at the last of the starts. */
  #used(starts: Range, count: number, { at }: Range): Range {
    return { at, length: this.#int(starts.at, count) };
  }

  #data(
    length: number,
    nullCount: number,
    [valid, ...rest]: readonly [Range, ...Range[]],
  ): ColumnData {
    const buffers = [
      nullCount === 0 ? noBytes : this.#view(valid),
      ...rest.map((r) => this.#view(r)),
    ];
    return { length, nullCount, buffers, children: [] };
  }

  #flat(nulls: number, valid: Range, out: Range): ColumnData {
    return this.#data(this.#count, nulls, [valid, out]);
  }

  #texts(nulls: number, valid: Range, starts: Range, out: Range): ColumnData {
    return this.#data(this.#count, nulls, [valid, starts, this.#used(starts, this.#count, out)]);
  }

  #list(starts: Range, child: ColumnData): ColumnData {
    return { ...this.#data(this.#count, 0, [noRange, starts]), children: [child] };
  }

  /** A column of keys by their index among the keys of the batch: the indexes themselves, or the keys. */
  #keyColumn(count: number, nulls: number, valid: Range, indexes: Range): ColumnData {
    if (!this.#options.isBinary) return this.#data(count, nulls, [valid, indexes]);
    const keys = this.#distinctKeys();
    const out = new Uint8Array(count * keyByteCount);
    for (let i = 0; i < count; i++) {
      const from = this.#int(indexes.at, i) * keyByteCount;
      out.set(keys.subarray(from, from + keyByteCount), i * keyByteCount);
    }
    const buffers = [nulls === 0 ? noBytes : this.#view(valid), out];
    return { length: count, nullCount: nulls, buffers, children: [] };
  }

  #keyBytes: Uint8Array | undefined;

  /** The keys of the batch, 32 bytes each. A key whose text was needed before is in memory only as a text. */
  #distinctKeys(): Uint8Array {
    if (this.#keyBytes !== undefined) return this.#keyBytes;
    const { kernel, open, distinct } = this.#options;
    const count = this.#exports.keyCount();
    const ids = Array.from({ length: count }, (_, i) => this.#int(distinct, i));
    const keys = readKeyBytes(ids, (id) => this.#int(open.keyTable, id), kernel.bytes);
    this.#keyBytes = keys;
    return keys;
  }
}

const noBytes = new Uint8Array(0);
