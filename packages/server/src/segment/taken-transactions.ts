import type { TransactionKernel } from '../kernels/transaction-kernel.ts';
import type { BlockCounts } from './block-counts.ts';
import { COLUMN_NAMES, COLUMNS, type ColumnName } from './columns.ts';
import type { DictionaryBuilder } from './dictionary.ts';
import { emptyGroupRows, type GroupRows } from './row-buffer.ts';
import { type FilledColumns, type IdMap, RowSource } from './row-source.ts';
import type { TextTable } from './text-table.ts';

/** The transactions of a block that a kernel turned into rows, on their way into a segment among others of the block. */
export class TakenTransactions {
  readonly #source: RowSource;
  readonly #columns: FilledColumns;
  /** Where each stands in its block, ascending. */
  readonly #indexes: Uint32Array;
  #next = 0;

  constructor(kernel: TransactionKernel, dictionary: DictionaryBuilder) {
    const columns = columnsOf(kernel);
    this.#indexes = columns.txIndex.values;
    this.#columns = columns;
    this.#source = new RowSource(this.#columns, new KernelIds(kernel, dictionary), kernel.texts);
  }

  get counts(): BlockCounts {
    return this.#countRows(0, this.#indexes.length);
  }

  /** Appends those below an index that were not appended yet. */
  copyBelow(index: number, rows: GroupRows, texts: TextTable): void {
    const first = this.#next;
    while (this.#next < this.#indexes.length && (this.#indexes[this.#next] as number) < index)
      this.#next++;
    if (this.#next > first) this.#source.copy(this.#countRows(first, this.#next), rows, texts);
  }

  #countRows(first: number, end: number): BlockCounts {
    const sum = (
      name: 'txInstructionCount' | 'txLogCount' | 'txBalanceCount' | 'txTokenBalanceCount',
    ) => {
      const { values } = this.#columns[name];
      let total = 0;
      for (let row = first; row < end; row++) total += values[row] as number;
      return total;
    };
    return {
      transactions: end - first,
      instructions: sum('txInstructionCount'),
      logs: sum('txLogCount'),
      balances: sum('txBalanceCount'),
      tokenBalances: sum('txTokenBalanceCount'),
      rewards: 0,
    };
  }
}

/** Rewards and texts belong to blocks: the kernel has none of them. */
const none = emptyGroupRows();

function columnsOf(kernel: TransactionKernel): FilledColumns {
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

/** From the kernel's numbers of addresses to the ids of a segment. */
class KernelIds implements IdMap {
  readonly #keys: Uint32Array;
  readonly #dictionary: DictionaryBuilder;
  /** Plus one; 0 is not known yet. */
  readonly #known: Uint32Array;

  constructor(kernel: TransactionKernel, dictionary: DictionaryBuilder) {
    this.#keys = kernel.keys;
    this.#dictionary = dictionary;
    this.#known = new Uint32Array(this.#keys.length / 8);
  }

  idOf(number: number): number {
    const known = this.#known[number] as number;
    if (known > 0) return known - 1;
    const id = this.#dictionary.idOfWords(this.#keys, number * 8);
    this.#known[number] = id + 1;
    return id;
  }
}
