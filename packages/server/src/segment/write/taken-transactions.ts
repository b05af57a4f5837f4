import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { BlockCounts } from '../layout/block-counts.ts';
import { COLUMN_NAMES, COLUMNS, type ColumnName } from '../layout/columns.ts';
import type { DictionaryBuilder } from '../layout/dictionary.ts';
import { emptyGroupRows, type GroupRows } from '../layout/row-buffer.ts';
import { type FilledColumns, type IdMap, RowSource, sumOf } from '../layout/row-source.ts';
import type { TextTable } from '../layout/text-table.ts';

/** Rows of a block whose address ids and text codes refer to separate tables. `txIndex` is the index in the block. */
export interface RowTables {
  readonly columns: FilledColumns;
  /** The addresses by id, eight words each. */
  readonly keys: Uint32Array;
  /** The texts by code, as output JSON. Code 0 is null. */
  readonly texts: readonly string[];
}

/** Transactions of a block that were already converted to rows. They are appended to a segment together with the other transactions. */
export class TakenTransactions {
  readonly #source: RowSource;
  readonly #columns: FilledColumns;
  /** The index of each transaction in its block, ascending. */
  readonly #indexes: Uint32Array;
  #next = 0;

  constructor({ columns, keys, texts }: RowTables, dictionary: DictionaryBuilder) {
    this.#indexes = columns.txIndex.values;
    this.#columns = columns;
    this.#source = new RowSource(columns, new TableIds(keys, dictionary), texts);
  }

  /** Returns the transactions that the kernel has read from the current block. */
  static ofKernel(kernel: TransactionKernel, dictionary: DictionaryBuilder): TakenTransactions {
    const { keys, texts } = kernel;
    return new TakenTransactions({ columns: columnsOfKernel(kernel), keys, texts }, dictionary);
  }

  get counts(): BlockCounts {
    return this.#countRows(0, this.#indexes.length);
  }

  /** Appends the transactions below an index that were not appended yet. */
  copyBelow(index: number, rows: GroupRows, texts: TextTable): void {
    const first = this.#next;
    while (this.#next < this.#indexes.length && (this.#indexes[this.#next] as number) < index)
      this.#next++;
    if (this.#next > first) this.#source.copy(this.#countRows(first, this.#next), rows, texts);
  }

  /** Appends the block's rewards, which come after all transactions. */
  copyRewards({ rows, texts }: { rows: GroupRows; texts: TextTable }): void {
    const rewards = this.#columns.rewKey.values.length;
    this.#source.copy({ ...this.#countRows(0, 0), rewards }, rows, texts);
  }

  #countRows(first: number, end: number): BlockCounts {
    const { txInstructionCount, txLogCount, txBalanceCount, txTokenBalanceCount } = this.#columns;
    return {
      transactions: end - first,
      instructions: sumOf(txInstructionCount.values, first, end),
      logs: sumOf(txLogCount.values, first, end),
      balances: sumOf(txBalanceCount.values, first, end),
      tokenBalances: sumOf(txTokenBalanceCount.values, first, end),
      rewards: 0,
    };
  }
}

/** The kernel produces neither rewards nor a table of texts. */
const none = emptyGroupRows();

export function columnsOfKernel(kernel: TransactionKernel): FilledColumns {
  const columns = COLUMN_NAMES.map((name) => [
    name,
    isOfKernel(name) ? { values: valuesOf(kernel, name) } : none[name],
  ]);
  return Object.fromEntries(columns) as FilledColumns;
}

function isOfKernel(name: ColumnName): boolean {
  return !name.startsWith('rew') && !name.startsWith('text');
}

function valuesOf(
  kernel: TransactionKernel,
  name: ColumnName,
): Uint32Array | BigUint64Array | Uint8Array {
  const { id: number, type } = COLUMNS[name];
  if (type === 'int') return kernel.ints(number);
  return type === 'long' ? kernel.longs(number) : kernel.bytes(number);
}

/** Maps the ids of a table of addresses to the ids of a segment. */
class TableIds implements IdMap {
  readonly #keys: Uint32Array;
  readonly #dictionary: DictionaryBuilder;
  /** Ids plus one; 0 if not known yet. */
  readonly #known: Uint32Array;

  constructor(keys: Uint32Array, dictionary: DictionaryBuilder) {
    this.#keys = keys;
    this.#dictionary = dictionary;
    this.#known = dictionary.findAll(keys);
  }

  idOf(number: number): number {
    const known = this.#known[number] as number;
    if (known > 0) return known - 1;
    const id = this.#dictionary.idOfWords(this.#keys, number * 8);
    this.#known[number] = id + 1;
    return id;
  }
}
