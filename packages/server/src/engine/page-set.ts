import { sliceOf } from '../segment/indexes/ascending-lists.ts';
import { pageCountOf } from '../segment/layout/group-entry.ts';
import type { StoredGroup } from '../segment/layout/stored-group.ts';
import type { PlannedItem } from './plan-items.ts';

/** Transactions of a segment, counted from its first; the end is not included. */
export interface TransactionSpan {
  readonly first: number;
  readonly end: number;
}

export interface NumberedGroup {
  readonly number: number;
  readonly group: StoredGroup;
}

/**
 * The pages of one row group that a query reads. The rows of the other pages are not in memory. A transaction's position is its number
 * among the transactions in memory: those of the row groups that were read before, then those of the pages of this one.
 */
export class PageSet {
  readonly number: number;
  readonly group: StoredGroup;
  /** Ascending. */
  readonly pages: Uint32Array;
  /** For each page of the group, how many pages before it are read. One entry more than there are pages. */
  readonly ranks: Uint32Array;
  /** The position of the first transaction in memory. */
  readonly firstPosition: number;
  readonly transactionCount: number;

  constructor({ number, group }: NumberedGroup, wanted: Uint8Array, firstPosition = 0) {
    const count = wanted.length;
    const ranks = new Uint32Array(count + 1);
    let rank = 0;
    let page = 0;
    for (; page < count; page++) {
      rank += wanted[page] as number;
      ranks[page + 1] = rank;
    }
    const pages = new Uint32Array(rank);
    let position = 0;
    for (page = 0; page < count; page++) if (wanted[page] === 1) pages[position++] = page;
    this.number = number;
    this.group = group;
    this.pages = pages;
    this.ranks = ranks;
    this.firstPosition = firstPosition;
    this.transactionCount = this.positionOf(group.transactionCount) - firstPosition;
  }

  /** Returns how many transactions in memory come before a transaction of the group, or before its end. */
  positionOf(transaction: number): number {
    const { pageTransactions } = this.group;
    const page = Math.min(Math.floor(transaction / pageTransactions), this.ranks.length - 1);
    const rank = this.ranks[page] as number;
    const isRead = page + 1 < this.ranks.length && (this.ranks[page + 1] as number) > rank;
    const within = isRead ? transaction - page * pageTransactions : 0;
    return this.firstPosition + rank * pageTransactions + within;
  }
}

/** Returns the part of a span that is in a row group; it is empty if they have no transaction in common. */
export function spanIn(group: StoredGroup, { first, end }: TransactionSpan): TransactionSpan {
  const start = Math.max(first, group.firstTransaction);
  const stop = Math.min(end, group.firstTransaction + group.transactionCount);
  return { first: start, end: Math.max(start, stop) };
}

/**
 * Returns the pages of consecutive row groups in which the items can match transactions of the span. An item without a driving list can
 * match anywhere; rewards are not in pages.
 */
export function pagesOf(
  groups: readonly NumberedGroup[],
  items: readonly PlannedItem[],
  span: TransactionSpan,
): PageSet[] {
  let position = 0;
  return groups.map((numbered) => {
    const set = new PageSet(numbered, wantedPages(numbered.group, items, span), position);
    position += set.transactionCount;
    return set;
  });
}

function wantedPages(
  group: StoredGroup,
  items: readonly PlannedItem[],
  span: TransactionSpan,
): Uint8Array {
  const { first, end } = spanIn(group, span);
  const wanted = new Uint8Array(pageCountOf(group));
  const pageOf = (transaction: number) =>
    Math.floor((transaction - group.firstTransaction) / group.pageTransactions);
  for (const { array, driving } of items) {
    if (array === 'rewards') continue;
    if (driving === undefined) {
      if (end > first) wanted.fill(1, pageOf(first), pageOf(end - 1) + 1);
      break;
    }
    const { transactions } = driving;
    const [from, to] = sliceOf(transactions, first, end);
    for (let i = from; i < to; i++) wanted[pageOf(transactions[i] as number)] = 1;
  }
  return wanted;
}
