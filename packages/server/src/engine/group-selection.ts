/** Selects the rows of a row group with the kernel `select.ts`. */

import { elementAt } from '@sluice/base/element-at';
import { valueOfKey } from '@sluice/base/value-of-key';
import {
  GROUP_BYTES,
  MARK_BALANCE,
  MARK_INSTRUCTION,
  MARK_LOG,
  MARK_TOKEN_BALANCE,
  MARK_TRANSACTION,
} from '@sluice/kernels/layout/selection';
import type { RecordArray } from '@sluice/protocol/field-table';
import { sliceOf } from '../segment/indexes/ascending-lists.ts';
import { DOMAINS } from '../segment/layout/columns.ts';
import type { StoredGroup } from '../segment/layout/stored-group.ts';
import type { Segment } from '../segment/read/open-segment.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { GroupColumns } from './group-columns.ts';
import { type GroupNeeds, needsOf, writeGroupTable } from './group-table.ts';
import { ItemTable } from './item-table.ts';
import type { MadeColumn } from './make-column.ts';
import { spanIn, type TransactionSpan } from './page-set.ts';
import type { PlannedItem } from './plan-items.ts';

/** The bit of each array in a transaction's mark; rewards belong to blocks and have none. */
export const MARK_BITS: Readonly<Record<RecordArray, number>> = {
  transactions: MARK_TRANSACTION,
  instructions: MARK_INSTRUCTION,
  logs: MARK_LOG,
  balances: MARK_BALANCE,
  tokenBalances: MARK_TOKEN_BALANCE,
  rewards: 0,
};

const rewardDomain = DOMAINS.indexOf('reward');

export interface SelectedGroup {
  /** The address of the group's table, for `setGroup`. */
  readonly table: number;
  readonly marks: number;
  /** The address of the flags of each array, one byte per row; 0 if the query cannot select its rows. */
  readonly flags: Readonly<Record<RecordArray, number>>;
}

/** Returns whether the item can match transactions of the span in a row group, or rewards of the group. */
export function canMatch(item: PlannedItem, group: StoredGroup, span: TransactionSpan): boolean {
  return item.array === 'rewards'
    ? group.totalOf(rewardDomain) > 0
    : candidateCount(item, group, span) > 0;
}

/** Returns in how many transactions of the span the item may match in a row group. */
export function candidateCount(
  { driving }: PlannedItem,
  group: StoredGroup,
  span: TransactionSpan,
): number {
  const { first, end } = spanIn(group, span);
  if (driving === undefined) return end - first;
  const [from, to] = sliceOf(driving.transactions, first, end);
  return to - from;
}

/** Selects the rows of a run's items, one row group after another. */
export class GroupSelector {
  readonly #kernel: EngineKernel;
  readonly #tables: ReadonlyMap<PlannedItem, ItemTable>;
  #needs: GroupNeeds | undefined;

  constructor(kernel: EngineKernel, segment: Segment, items: readonly PlannedItem[]) {
    this.#kernel = kernel;
    this.#tables = new Map(items.map((item) => [item, new ItemTable(kernel, segment, item)]));
  }

  release(): void {
    for (const table of this.#tables.values()) table.release();
  }

  /** The result is valid until the next group is selected. */
  select(
    columns: GroupColumns,
    items: readonly PlannedItem[],
    span: TransactionSpan,
  ): SelectedGroup {
    // Most groups have the same items, so the needs of the last group are kept.
    if (this.#needs === undefined || !isSameList(this.#needs.items, items))
      this.#needs = needsOf(items);
    const needs = this.#needs;
    const { scratch } = columns;
    const table = scratch.reserveZeroed(GROUP_BYTES);
    const marks = scratch.reserveZeroed(columns.transactionCount);
    const flags = { ...noFlags };
    for (const array of needs.arrays)
      flags[array] = scratch.reserveZeroed(rowCount(columns, array));
    const ranks = columns.pages.map((pages) => {
      const at = scratch.reserve(pages.ranks.byteLength);
      this.#kernel.ints.set(pages.ranks, at / 4);
      return at;
    });
    writeGroupTable(table, columns, needs, { flags, marks });
    this.#kernel.exports.setGroup(table, this.#kernel.positionScratch);
    const where = { ranks, span };
    for (const item of items) item.matchedRows += this.#selectItem(item, columns, flags, where);
    return { table, marks, flags };
  }

  /** Runs the kernel for one item. Returns the number of rows that matched. */
  #selectItem(
    item: PlannedItem,
    columns: GroupColumns,
    flags: Readonly<Record<RecordArray, number>>,
    where: { ranks: readonly number[]; span: TransactionSpan },
  ): number {
    const { array } = item;
    const table = valueOfKey(this.#tables, item);
    table.bind(columns, where);
    switch (array) {
      case 'transactions':
        return table.selectTransactions(columns.transactionCount);
      case 'instructions':
        return table.selectInstructions(columns.transactionCount);
      case 'rewards':
        return table.selectRewards(columns.stored('rewKey'), flags.rewards);
      default: {
        const starts = columns.made(STARTS[array]).at;
        return table.selectRows(columns, { starts, flags: flags[array], mark: MARK_BITS[array] });
      }
    }
  }
}

const noFlags: Record<RecordArray, number> = {
  transactions: 0,
  instructions: 0,
  logs: 0,
  balances: 0,
  tokenBalances: 0,
  rewards: 0,
};

function isSameList(a: readonly PlannedItem[], b: readonly PlannedItem[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

/** Returns the number of rows of an array in the pages in memory, without loading more than the counts. */
function rowCount(columns: GroupColumns, array: RecordArray): number {
  switch (array) {
    case 'transactions':
      return columns.transactionCount;
    case 'rewards':
      return columns.stored('rewKey').count;
    default:
      return endOf(columns, STARTS[array]);
  }
}

/** Returns the end of the last range. */
function endOf(columns: GroupColumns, name: MadeColumn): number {
  const { at, count } = columns.made(name);
  return elementAt(columns.kernel.ints, at / 4 + count);
}

const STARTS = {
  instructions: 'instructionStarts',
  logs: 'logStarts',
  balances: 'balanceStarts',
  tokenBalances: 'tokenBalanceStarts',
} as const;
