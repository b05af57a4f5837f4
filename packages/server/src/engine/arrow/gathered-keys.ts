/** The keys of the rows: indexes of the dictionary of the batch, or 32 bytes each. */
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import type { EngineKernel } from '../engine-kernel.ts';
import type { EngineSegment } from '../engine-segment.ts';
import type { ColumnReader } from '../make-column.ts';
import type { StepOperands } from '../steps.ts';
import { type BatchMemory, noRange, type Pending, type Range } from './batch-memory.ts';
import type { GatheredSignatures } from './gathered-signatures.ts';
import { keyByteCount, keyBytesAt } from './key-bytes.ts';

/**
 * For each kernel a table with the index of each key of a segment in the batch, plus one. It has only zeros between batches, so that a query
 * need not clear it.
 */
const indexTables = new WeakMap<EngineKernel, Range>();

export class GatheredKeys {
  readonly #memory: BatchMemory;
  readonly #open: EngineSegment;
  readonly #columns: ColumnReader;
  readonly #isBinary: boolean;
  /** The address of the list of the ids of distinct keys. */
  readonly #distinct: number;

  constructor(
    memory: BatchMemory,
    { open, columns, isBinary }: { open: EngineSegment; columns: ColumnReader; isBinary: boolean },
    textsBefore: number,
  ) {
    this.#memory = memory;
    this.#open = open;
    this.#columns = columns;
    this.#isBinary = isBinary;
    const { addressCount } = open.segment.directory;
    const [ids, starts] = [columns.stored('txKeys').at, columns.made('keyStarts').at];
    const table = indexTableOf(memory.kernel, addressCount * 4);
    this.#distinct = memory.reserve(addressCount * 4).at;
    memory.exports.setKeys(starts, ids, open.keyTable);
    memory.exports.beginKeys(table, this.#distinct, textsBefore);
  }

  ofPositions(operands: StepOperands): Pending {
    const { rows, transactions, count } = this.#memory.lists;
    return this.ofRows(operands, rows, transactions, count);
  }

  orNull({ p0, w0 }: StepOperands): Pending {
    const { rows, transactions, count } = this.#memory.lists;
    const [out, valid] = [this.#memory.reserve(count * 4), this.#memory.validity()];
    const { gatherKeysOrNull } = this.#memory.exports;
    const nulls = gatherKeysOrNull(p0, w0, rows, transactions, count, out.at, valid.at);
    return this.#column(count, nulls, valid, out);
  }

  payers({ p0, w0 }: StepOperands): Pending {
    const { transactions, count } = this.#memory.lists;
    const [out, valid] = [this.#memory.reserve(count * 4), this.#memory.validity()];
    const { gatherPayers } = this.#memory.exports;
    const nulls = gatherPayers(p0, w0, transactions, count, out.at, valid.at);
    return this.#column(count, nulls, valid, out);
  }

  ofIds({ p0, w0 }: StepOperands): Pending {
    const { rows, count } = this.#memory.lists;
    const out = this.#memory.reserve(count * 4);
    this.#memory.exports.gatherKeyIds(p0, w0, rows, count, out.at);
    return this.#column(count, 0, noRange, out);
  }

  lists({ p0, w0, p1 = 0 }: StepOperands): Pending {
    const { rows, transactions, count } = this.#memory.lists;
    const total = this.#memory.exports.sumOfRanges(p1, rows, count);
    const [starts, out] = [this.#memory.starts(), this.#memory.reserve(total * 4)];
    const { gatherKeyLists } = this.#memory.exports;
    gatherKeyLists(p0, w0, p1, rows, transactions, count, starts.at, out.at);
    return this.#list(starts, out);
  }

  statics(): Pending {
    return this.#ranges(0, 0, this.#columns.stored('txStaticCount').at);
  }

  loaded(): readonly Pending[] {
    const { at: statics } = this.#columns.stored('txStaticCount');
    const { at: writable } = this.#columns.stored('txWritableCount');
    const { at: readonly } = this.#columns.stored('txReadonlyCount');
    return [this.#ranges(statics, 0, writable), this.#ranges(statics, writable, readonly)];
  }

  /** Keys of the lists of transactions, by columns of counts: those to skip, more to skip, and those to take. */
  #ranges(skip: number, skipMore: number, lengths: number): Pending {
    const { transactions, count } = this.#memory.lists;
    const { gatherKeyRanges, sumOfRanges } = this.#memory.exports;
    const most = sumOfRanges(this.#columns.made('keyStarts').at, transactions, count);
    const [starts, out] = [this.#memory.starts(), this.#memory.reserve(most * 4)];
    gatherKeyRanges(skip, skipMore, lengths, 4, transactions, count, starts.at, out.at);
    return this.#list(starts, out);
  }

  /** Keys of listed rows, by their position in the list of each one's transaction. */
  ofRows({ p0, w0 }: StepOperands, rows: number, owners: number, count: number): Pending {
    const out = this.#memory.reserve(count * 4);
    this.#memory.exports.gatherKeys(p0, w0, rows, owners, count, out.at);
    return this.#column(count, 0, noRange, out);
  }

  /** Keys of the lists of accounts of instructions, by the position in each list, or -1. */
  ofAccounts(positions: Int32Array): Pending {
    const memory = this.#memory;
    const { rows, transactions, count } = memory.lists;
    const { at, width } = this.#columns.stored('insAccounts');
    const { at: starts } = this.#columns.made('accountStarts');
    const numbers = memory.reserve(count * 4).at;
    const [out, valid] = [memory.reserve(count * 4), memory.validity()];
    memory.kernel.ints.set(positions, numbers / 4);
    const lists = [starts, numbers, rows, transactions, count] as const;
    const nulls = memory.exports.gatherAccountKeys(at, width, ...lists, out.at, valid.at);
    return this.#column(count, nulls, valid, out);
  }

  #list(starts: Range, { at }: Range): Pending {
    const { count } = this.#memory.lists;
    const total = this.#memory.int(starts.at, count);
    const child = this.#column(total, 0, noRange, { at, length: total * 4 });
    return () => this.#memory.list(count, starts, child());
  }

  #column(count: number, nulls: number, valid: Range, indexes: Range): Pending {
    const memory = this.#memory;
    if (!this.#isBinary) return () => memory.data(count, nulls, [valid, indexes]);
    const out = memory.reserve(count * keyByteCount);
    return () => {
      memory.exports.copyKeyBytes(this.#keyBytes, indexes.at, count, out.at);
      return memory.data(count, nulls, [valid, out]);
    };
  }

  /** The address of the distinct keys, 32 bytes each. */
  #keyBytes = 0;

  /** Loads the bytes of the distinct keys, for binary columns. It reserves memory of the kernel. */
  loadBytes(): void {
    const { kernel, exports } = this.#memory;
    const count = exports.keyCount();
    // At least one key, because a null refers to the first one.
    this.#keyBytes = this.#memory.reserveZeroed((count + 1) * keyByteCount).at;
    for (let i = 0; i < count; i++) {
      const id = this.#memory.int(this.#distinct, i);
      const at = this.#memory.int(this.#open.keyTable, id);
      kernel.bytes.set(keyBytesAt(at, kernel.bytes), this.#keyBytes + i * keyByteCount);
    }
  }
}

function indexTableOf(kernel: EngineKernel, length: number): number {
  const known = indexTables.get(kernel);
  if (known !== undefined && known.length >= length) return known.at;
  if (known !== undefined) kernel.release(known.at);
  const at = kernel.allocate(length);
  kernel.bytes.fill(0, at, at + length);
  indexTables.set(kernel, { at, length });
  return at;
}

/** Returns the dictionary of a batch: the texts of signatures, those of keys, and hashes. */
export function dictionaryOf(
  memory: BatchMemory,
  { count: first, starts: firstStarts, texts }: GatheredSignatures | typeof noTexts,
  hashes: Iterable<string>,
): Pending {
  const { kernel, exports } = memory;
  const [added, keyCount] = [[...hashes], exports.keyCount()];
  const count = first + keyCount + added.length;
  const starts = memory.starts(count);
  const { at } = memory.reserve(texts.length + (keyCount + added.length) * KEY_TEXT_BYTES);
  kernel.bytes.copyWithin(starts.at, firstStarts.at, firstStarts.at + first * 4);
  kernel.bytes.copyWithin(at, texts.at, texts.at + texts.length);
  let length = exports.copyKeyTexts(starts.at + first * 4, at, texts.length);
  let last = starts.at / 4 + first + keyCount;
  for (const text of added) {
    kernel.bytes.set(Buffer.from(text), at + length);
    length += text.length;
    kernel.ints[++last] = length;
  }
  return () => memory.data(count, 0, [noRange, starts, { at, length }]);
}

export const noTexts = { count: 0, starts: noRange, texts: noRange };
