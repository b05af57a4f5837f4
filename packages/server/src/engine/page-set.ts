import { type GroupEntry, pageCountOf } from '../segment/directory.ts';
import { type PlannedItem, sliceOf } from './plan-items.ts';

/** Transactions of a segment, numbered from its first one. The end is exclusive. */
export interface TransactionSpan {
  readonly first: number;
  readonly end: number;
}

/**
 * The pages of a row group that a query reads. The rows of other pages are not in memory, so a transaction's position in memory counts only
 * the transactions of the pages that are read.
 */
export class PageSet {
  /** Ascending. */
  readonly pages: Uint32Array;
  /** For each page of the group, the number of earlier pages that are read. Has one entry more than there are pages. */
  readonly ranks: Uint32Array;
  readonly transactionCount: number;
  readonly #group: GroupEntry;

  constructor(group: GroupEntry, wanted: Uint8Array) {
    const count = wanted.length;
    const ranks = new Uint32Array(count + 1);
    for (let page = 0; page < count; page++)
      ranks[page + 1] = (ranks[page] as number) + (wanted[page] as number);
    const pages = new Uint32Array(ranks[count] as number);
    for (let page = 0; page < count; page++)
      if (wanted[page] === 1) pages[ranks[page] as number] = page;
    this.#group = group;
    this.pages = pages;
    this.ranks = ranks;
    this.transactionCount = this.placeOf(group.transactionCount);
  }

  /** Returns the position in memory of a transaction of the group, or of the group's end. */
  placeOf(transaction: number): number {
    const { pageTransactions } = this.#group;
    const page = Math.min(Math.floor(transaction / pageTransactions), this.ranks.length - 1);
    const rank = this.ranks[page] as number;
    const isRead = page + 1 < this.ranks.length && (this.ranks[page + 1] as number) > rank;
    return rank * pageTransactions + (isRead ? transaction - page * pageTransactions : 0);
  }
}

/**
 * Returns the pages in which the items can match transactions of the span. An item without candidates can match anywhere. Rewards are not
 * stored in pages.
 */
export function pagesOf(
  group: GroupEntry,
  items: readonly PlannedItem[],
  { first, end }: TransactionSpan,
): PageSet {
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
  return new PageSet(group, wanted);
}
