/** The selected rows of one record batch, whose values the kernels in `gather` copy into the buffers of Arrow columns. */
import { assert } from '@sluice/base/assert';
import type { TypedRows } from '@sluice/decode/typed-rows';
import { LOG_KIND_CODES } from '../../segment/layout/columns.ts';
import type { EngineSegment } from '../engine-segment.ts';
import type { ColumnReader } from '../make-column.ts';
import type { RowDecoder } from '../row-decoder.ts';
import type { Step, StepOperands } from '../steps.ts';
import { type BatchMemory, noRange, type Pending } from './batch-memory.ts';
import { BlockColumns } from './block-columns.ts';
import { dictionaryOf, GatheredKeys, noTexts } from './gathered-keys.ts';
import { GatheredSignatures, type WantedSignatures } from './gathered-signatures.ts';
import { typedColumns } from './typed-columns.ts';

export interface RecordSource {
  readonly columns: ColumnReader;
  readonly bind: (step: Step) => StepOperands;
  readonly decoder: () => RowDecoder;
}

export interface GatheredRowsOptions {
  readonly open: EngineSegment;
  /** Undefined for blocks, which have no columns. */
  readonly source: RecordSource | undefined;
  readonly isBinary: boolean;
  readonly signatures: WantedSignatures;
  /** The decoded values of the rows, if they have columns. */
  readonly typed: TypedRows | undefined;
}

export class GatheredRows {
  readonly blocks: BlockColumns;
  readonly #memory: BatchMemory;
  readonly #source: RecordSource | undefined;
  readonly #signatures: GatheredSignatures | undefined;
  readonly #keys: GatheredKeys | undefined;
  readonly #typed: TypedRows | undefined;

  constructor(
    memory: BatchMemory,
    { open, source, isBinary, signatures: wanted, typed }: GatheredRowsOptions,
  ) {
    this.#memory = memory;
    this.#typed = typed;
    this.#source = source;
    const { exports } = memory;
    if (source === undefined) exports.beginKeys(0, 0, 0);
    else {
      const { columns } = source;
      this.#signatures = new GatheredSignatures(memory, columns, { wanted, isBinary });
      this.#keys = new GatheredKeys(memory, { open, columns, isBinary }, this.#signatures.count);
    }
    const textsBefore = this.#signatures?.count ?? 0;
    const firstIndex = () => textsBefore + exports.keyCount();
    this.blocks = new BlockColumns(memory, { segment: open.segment, isBinary, firstIndex });
  }

  get keys(): GatheredKeys {
    assert(this.#keys !== undefined, 'only records have keys');
    return this.#keys;
  }

  get signatures(): GatheredSignatures {
    assert(this.#signatures !== undefined, 'only records have signatures');
    return this.#signatures;
  }

  get #records(): RecordSource {
    assert(this.#source !== undefined, 'only records have columns');
    return this.#source;
  }

  bind(step: Step): StepOperands {
    return this.#records.bind(step);
  }

  /** Returns the dictionary of the batch. It reserves memory of the kernel. */
  dictionary(): Pending {
    return dictionaryOf(this.#memory, this.#signatures ?? noTexts, this.blocks.texts.keys());
  }

  ints({ p0, w0 }: StepOperands, plus = 0): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const out = memory.reserve(count * 4);
    memory.exports.gatherInts(p0, w0, plus, rows, count, out.at);
    return () => memory.flat(0, noRange, out);
  }

  transactionInts({ p0, w0 }: StepOperands): Pending {
    const memory = this.#memory;
    const { transactions, count } = memory.lists;
    const out = memory.reserve(count * 4);
    memory.exports.gatherTransactionInts(p0, w0, transactions, count, out.at);
    return () => memory.flat(0, noRange, out);
  }

  intsOrNull({ p0, w0 }: StepOperands): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const [out, valid] = [memory.reserve(count * 4), memory.validity()];
    const nulls = memory.exports.gatherIntsOrNull(p0, w0, rows, count, out.at, valid.at);
    return () => memory.flat(nulls, valid, out);
  }

  longs({ p0, w0, p1 = 0, p2 = 0, p3 = 0 }: StepOperands): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const [out, valid] = [memory.reserve(count * 8), memory.validity()];
    memory.exports.gatherLongs(p0, w0, rows, count, out.at);
    const nulls = p1 === 0 ? 0 : memory.exports.gatherNulls(p1, p3, p2, rows, count, valid.at);
    return () => memory.flat(nulls, valid, out);
  }

  flags({ p0, w0, p2 = 0 }: StepOperands): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const out = memory.reserveZeroed(Math.ceil(count / 8));
    memory.exports.gatherFlags(p0, w0, p2, rows, count, out.at);
    return () => memory.flat(0, noRange, out);
  }

  outcomes({ p0, w0 }: StepOperands): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const [out, valid] = [memory.reserveZeroed(Math.ceil(count / 8)), memory.validity()];
    const nulls = memory.exports.gatherOutcomes(p0, w0, rows, count, out.at, valid.at);
    return () => memory.flat(nulls, valid, out);
  }

  escapedTexts({ p0, p1 = 0 }: StepOperands): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const starts = memory.starts();
    const out = memory.reserve(memory.exports.sumOfRanges(p1, rows, count));
    memory.exports.gatherEscaped(p0, p1, rows, count, starts.at, out.at);
    return () => memory.texts(0, noRange, starts, out);
  }

  /** Texts of JSON by their code. `isText` says whether they are JSON strings. */
  codedTexts({ p0, w0, p1 = 0, p2 = 0 }: StepOperands, isText: boolean): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const codes = memory.reserve(count * 4);
    memory.exports.gatherInts(p0, w0, 0, rows, count, codes.at);
    const [starts, valid] = [memory.starts(), memory.validity()];
    const out = memory.reserve(memory.exports.sumOfRanges(p1, codes.at, count));
    const ranges = [p2, p1, isText ? 1 : 0, rows, count] as const;
    const nulls = memory.exports.gatherCoded(p0, w0, ...ranges, starts.at, out.at, valid.at);
    return () => memory.texts(nulls, valid, starts, out);
  }

  logKinds({ p0, w0 }: StepOperands): Pending {
    const memory = this.#memory;
    const texts = Object.keys(LOG_KIND_CODES).map((kind) => `"${kind}"`);
    const bytes = memory.reserve(texts.join('').length);
    const starts = memory.starts(texts.length);
    const { kernel } = memory;
    let at = 0;
    for (const [code, text] of texts.entries()) {
      kernel.ints[starts.at / 4 + code] = at;
      kernel.bytes.set(Buffer.from(text), bytes.at + at);
      at += text.length;
    }
    kernel.ints[starts.at / 4 + texts.length] = at;
    return this.codedTexts({ p0, w0, p1: starts.at, p2: bytes.at }, true);
  }

  /** Values of variable length: bytes, or texts of JSON, of which `null` is a null. */
  bytes({ p0, p1 = 0 }: StepOperands, isJson = false): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const [starts, valid] = [memory.starts(), memory.validity()];
    const out = memory.reserve(memory.exports.sumOfRanges(p1, rows, count));
    memory.exports.gatherRanges(p0, p1, 0, rows, count, starts.at, out.at);
    const nulls = isJson ? memory.exports.gatherNullTexts(p0, p1, rows, count, valid.at) : 0;
    return () => memory.texts(nulls, valid, starts, out);
  }

  hex({ p0, p1 = 0, p2 = 0 }: StepOperands): Pending {
    const memory = this.#memory;
    const { rows, count } = memory.lists;
    const [starts, valid] = [memory.starts(), memory.validity()];
    const out = memory.reserve(count * (2 + p2 * 2));
    const { gatherHex } = memory.exports;
    const nulls = gatherHex(p0, p1, p2, rows, count, starts.at, out.at, valid.at);
    return () => memory.texts(nulls, valid, starts, out);
  }

  paths({ p0, p1 = 0 }: StepOperands, rows = this.#memory.lists.rows): Pending {
    const memory = this.#memory;
    const { count } = memory.lists;
    const { gatherPaths, sumOfRanges } = memory.exports;
    // A number takes at least two characters of the text with the sign that follows it.
    const out = memory.reserve(sumOfRanges(p1, rows, count) * 2);
    const starts = memory.starts();
    const total = gatherPaths(p0, p1, rows, count, starts.at, out.at);
    const values = { at: out.at, length: total * 4 };
    return () => memory.list(count, starts, memory.data(total, 0, [noRange, values]));
  }

  /** The addresses of the instructions that wrote logs. */
  pathsOfLogs({ p0, w0, p1 = 0, p2 = 0, p3 = 0 }: StepOperands): Pending {
    const { rows, transactions, count } = this.#memory.lists;
    const { at } = this.#memory.reserve(count * 4);
    this.#memory.exports.gatherInstructionRows(p0, w0, p2, rows, transactions, count, at);
    return this.paths({ p0: p3, w0: 1, p1 }, at);
  }

  lookups(): Pending {
    const memory = this.#memory;
    const { columns } = this.#records;
    const { transactions, count } = memory.lists;
    const { gatherOwnedRows, gatherParts, sumOfRanges } = memory.exports;
    const key = columns.stored('lookupKey');
    const lengths = columns.stored('lookupReadonlyCount');
    const indexes = columns.stored('lookupIndexes');
    const indexStarts = columns.made('lookupIndexStarts').at;
    const lookupStarts = columns.made('lookupStarts').at;
    const total = sumOfRanges(lookupStarts, transactions, count);
    const starts = memory.starts();
    const [rows, owners] = [memory.reserve(total * 4).at, memory.reserve(total * 4).at];
    gatherOwnedRows(lookupStarts, transactions, count, starts.at, rows, owners);
    const keys = this.keys.ofRows({ p0: key.at, w0: key.width }, rows, owners, total);
    const most = sumOfRanges(indexStarts, rows, total);
    const parts = [0, 1].map((isRest): Pending => {
      const [partStarts, out] = [memory.starts(total), memory.reserve(most * 4)];
      const source = [indexes.at, indexes.width, indexStarts, lengths.at, lengths.width] as const;
      const target = [rows, total, partStarts.at, out.at] as const;
      const length = gatherParts(...source, isRest, ...target) * 4;
      const values = { at: out.at, length };
      return () => memory.list(total, partStarts, memory.data(length / 4, 0, [noRange, values]));
    });
    return () => {
      const children = [keys(), ...parts.map((part) => part())];
      return memory.list(count, starts, { ...memory.data(total, 0, [noRange]), children });
    };
  }

  /** The arguments and accounts of instructions or events, and why a row has none. */
  typed(): readonly Pending[] {
    const typed = this.#typed;
    assert(typed !== undefined, 'the rows were read into columns');
    const accounts = typed.accounts.map((positions) => this.keys.ofAccounts(positions));
    return typedColumns(typed, accounts);
  }
}
