/** One item in the kernel's memory. The parts that are equal for all row groups are written once. */
import { elementAt } from '@sluice/base/element-at';
import { OUTCOME_COMMITTED, OUTCOME_FAILED } from '@sluice/kernels/layout/columns';
import {
  DATA_VALUE_BYTES,
  DATA_VALUE_LENGTH,
  DATA_VALUE_MASK,
  FILTER_BYTES,
  FILTER_SHAPE,
  FILTER_TARGET,
  FILTER_VALUE_COUNT,
  FILTER_VALUES,
  ID_LIST_MAX,
  ITEM_BYTES,
  ITEM_CANDIDATE_COUNT,
  ITEM_CANDIDATES,
  ITEM_DATA_FILTER_COUNT,
  ITEM_DATA_FILTERS,
  ITEM_FILTER_COUNT,
  ITEM_FILTERS,
  ITEM_OUTCOME,
  ITEM_PROGRAM_BIT,
  ITEM_RELATIONS,
  OUTCOME_ANY,
  ROWS_BYTES,
  ROWS_FLAGS,
  ROWS_KIND_BITS,
  ROWS_KIND_WIDTH,
  ROWS_KINDS,
  ROWS_MARK,
  ROWS_STARTS,
  SHAPE_EITHER,
  SHAPE_NULLABLE,
  SHAPE_STRIDE_SHIFT,
} from '@sluice/kernels/layout/selection';
import { sliceOf } from '../segment/indexes/ascending-lists.ts';
import type { Segment } from '../segment/read/open-segment.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { PositionColumn } from './filter-table.ts';
import type { GroupColumns } from './group-columns.ts';
import type { LoadedColumn } from './make-column.ts';
import { spanIn, type TransactionSpan } from './page-set.ts';
import { type AddressFilter, isByProgram, type PlannedItem } from './plan-items.ts';

/** The rows of one array in a row group: where each transaction's rows start, their flags, and the bit of the array. */
export interface RowTable {
  readonly starts: number;
  readonly flags: number;
  readonly mark: number;
}

/** One filter of the kernel. A filter of two columns takes two of them. */
interface KernelFilter {
  readonly ids: Uint32Array;
  readonly target: number;
  readonly column: PositionColumn | undefined;
  readonly isEither: boolean;
}

export class ItemTable {
  readonly #kernel: EngineKernel;
  readonly #item: PlannedItem;
  readonly #filters: readonly KernelFilter[];
  readonly #at: number;
  readonly #filtersAt: number;
  readonly #candidates: number;
  #used = ITEM_BYTES + ROWS_BYTES;

  constructor(kernel: EngineKernel, segment: Segment, item: PlannedItem) {
    this.#kernel = kernel;
    this.#item = item;
    this.#filters = item.addressFilters.flatMap(kernelFilters);
    const candidates = item.driving?.transactions;
    const filterBytes = sizeOf(this.#filters, item, segment);
    const size = this.#used + filterBytes + (candidates?.length ?? 0) * 4;
    this.#at = kernel.allocate(size);
    kernel.bytes.fill(0, this.#at, this.#at + size);
    this.#filtersAt = this.#reserve(this.#filters.length * FILTER_BYTES);
    for (const [i, { ids }] of this.#filters.entries()) this.#writeIds(i, ids, segment);
    const dataFilters = this.#writeDataFilters();
    this.#candidates = candidates === undefined ? 0 : this.#reserve(candidates.length * 4);
    if (candidates !== undefined) kernel.ints.set(candidates, this.#candidates / 4);
    this.#set(ITEM_FILTERS, this.#filtersAt);
    this.#set(ITEM_FILTER_COUNT, this.#filters.length);
    this.#set(ITEM_DATA_FILTERS, dataFilters);
    this.#set(ITEM_DATA_FILTER_COUNT, item.dataFilters.length);
    this.#set(ITEM_OUTCOME, outcomeOf(item));
    this.#set(ITEM_RELATIONS, item.relations);
    // Filters of instructions have one kernel filter each, so the numbers are the same.
    const program = item.addressFilters.findIndex(isByProgram);
    this.#set(ITEM_PROGRAM_BIT, program < 0 ? 0 : 1 << program);
  }

  release(): void {
    this.#kernel.release(this.#at);
  }

  /** Writes the addresses of the columns and of the item's candidates in the span. `ranks` has the address of each row group's page ranks. */
  bind(
    columns: GroupColumns,
    { ranks, span }: { ranks: readonly number[]; span: TransactionSpan },
  ): void {
    for (const [i, { target, column, isEither }] of this.#filters.entries()) {
      const loaded = column === undefined ? undefined : loadColumn(columns, column);
      const shape = column === undefined || loaded === undefined ? 0 : shapeOf(column, loaded);
      const at = this.#filtersAt + i * FILTER_BYTES;
      const { ints } = this.#kernel;
      ints[(at + FILTER_TARGET) / 4] = loaded?.at ?? target;
      ints[(at + FILTER_SHAPE) / 4] = shape | (isEither ? SHAPE_EITHER : 0);
    }
    const { driving } = this.#item;
    if (driving === undefined) return;
    const [start, stop] = sliceOf(driving.transactions, span.first, span.end);
    const positions = columns.scratch.reserve((stop - start) * 4);
    let count = 0;
    columns.pages.forEach(({ group, firstPosition }, i) => {
      const part = spanIn(group, span);
      const [from, to] = sliceOf(driving.transactions, part.first, part.end);
      this.#kernel.exports.locateTransactions(
        this.#candidates + from * 4,
        to - from,
        group.firstTransaction,
        group.pageTransactions,
        elementAt(ranks, i),
        firstPosition,
        positions + count * 4,
      );
      count += to - from;
    });
    this.#set(ITEM_CANDIDATES, positions);
    this.#set(ITEM_CANDIDATE_COUNT, count);
  }

  selectTransactions(transactionCount: number): number {
    return this.#kernel.exports.selectTransactions(this.#at, transactionCount);
  }

  selectInstructions(transactionCount: number): number {
    return this.#kernel.exports.selectInstructions(this.#at, transactionCount);
  }

  selectRewards({ at, width, count }: LoadedColumn, flags: number): number {
    const ids = this.#item.addressFilters[0]?.ids;
    const list = (this.#filtersAt + FILTER_VALUES) / 4;
    const idsAt = ids === undefined ? 0 : elementAt(this.#kernel.ints, list);
    return this.#kernel.exports.selectRewards(at, width, count, idsAt, ids?.length ?? -1, flags);
  }

  selectRows(columns: GroupColumns, { starts, flags, mark }: RowTable): number {
    const { logKinds } = this.#item;
    const kinds = logKinds === 0 ? undefined : columns.stored('logKind');
    this.#set(ITEM_BYTES + ROWS_STARTS, starts);
    this.#set(ITEM_BYTES + ROWS_FLAGS, flags);
    this.#set(ITEM_BYTES + ROWS_MARK, mark);
    this.#set(ITEM_BYTES + ROWS_KINDS, kinds?.at ?? 0);
    this.#set(ITEM_BYTES + ROWS_KIND_WIDTH, kinds?.width ?? 0);
    this.#set(ITEM_BYTES + ROWS_KIND_BITS, logKinds);
    const rows = this.#at + ITEM_BYTES;
    return this.#kernel.exports.selectRows(this.#at, rows, columns.transactionCount);
  }

  #set(offset: number, value: number): void {
    this.#kernel.ints[(this.#at + offset) / 4] = value;
  }

  #writeIds(filter: number, ids: Uint32Array, segment: Segment): void {
    const at = this.#reserve(idsBytes(ids, segment));
    const { bytes, ints } = this.#kernel;
    if (ids.length <= ID_LIST_MAX) ints.set(ids, at / 4);
    else {
      for (const id of ids) {
        const byte = at + (id >>> 3);
        bytes[byte] = (bytes[byte] as number) | (1 << (id & 7));
      }
    }
    this.#writeValues(this.#filtersAt + filter * FILTER_BYTES, ids.length, at);
  }

  #writeDataFilters(): number {
    const { dataFilters } = this.#item;
    const filters = this.#reserve(dataFilters.length * FILTER_BYTES);
    for (const [i, { values }] of dataFilters.entries()) {
      const at = this.#reserve(values.length * DATA_VALUE_BYTES);
      const { bytes, ints } = this.#kernel;
      for (const [n, value] of values.entries()) {
        const entry = at + n * DATA_VALUE_BYTES;
        bytes.set(value, entry);
        bytes.fill(0xff, entry + DATA_VALUE_MASK, entry + DATA_VALUE_MASK + value.length);
        ints[(entry + DATA_VALUE_LENGTH) / 4] = value.length;
      }
      this.#writeValues(filters + i * FILTER_BYTES, values.length, at);
    }
    return filters;
  }

  #writeValues(filter: number, count: number, values: number): void {
    this.#kernel.ints[(filter + FILTER_VALUE_COUNT) / 4] = count;
    this.#kernel.ints[(filter + FILTER_VALUES) / 4] = values;
  }

  #reserve(byteCount: number): number {
    const at = this.#at + this.#used;
    this.#used += roundUp(byteCount);
    return at;
  }
}

function kernelFilters({ test, ids }: AddressFilter): KernelFilter[] {
  if (test.by === 'columns') {
    const last = test.columns.length - 1;
    return test.columns.map((column, i) => ({ ids, target: 0, column, isEither: i < last }));
  }
  const target = test.by === 'target' ? test.target : 0;
  return [{ ids, target, column: undefined, isEither: false }];
}

function outcomeOf({ isCommitted }: PlannedItem): number {
  if (isCommitted === undefined) return OUTCOME_ANY;
  return isCommitted ? OUTCOME_COMMITTED : OUTCOME_FAILED;
}

function loadColumn(columns: GroupColumns, column: PositionColumn): LoadedColumn {
  return 'stored' in column ? columns.stored(column.stored) : columns.made(column.made);
}

function shapeOf({ isNullable }: PositionColumn, { width }: LoadedColumn): number {
  return width | (isNullable ? SHAPE_NULLABLE : 0) | (1 << SHAPE_STRIDE_SHIFT);
}

/** Returns the size of a list of ids, or of the bit set that replaces a longer list. */
function idsBytes(ids: Uint32Array, { directory }: Segment): number {
  return ids.length <= ID_LIST_MAX ? ids.length * 4 : Math.ceil(directory.addressCount / 8);
}

function sizeOf(filters: readonly KernelFilter[], item: PlannedItem, segment: Segment): number {
  const lists = filters.map(({ ids }) => roundUp(idsBytes(ids, segment)));
  const values = item.dataFilters.map(({ values }) => values.length * DATA_VALUE_BYTES);
  const headers = (filters.length + item.dataFilters.length) * FILTER_BYTES;
  return [...lists, ...values].reduce((sum, bytes) => sum + bytes, headers);
}

/** Memory is reserved in units of 16 bytes. */
function roundUp(byteCount: number): number {
  return Math.ceil(byteCount / 16) * 16;
}
