import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StoredGroup } from '../segment/layout/stored-group.ts';
import { PageSet, pagesOf, type TransactionSpan } from './page-set.ts';
import type { PlannedItem } from './plan-items.ts';

const groups = fc
  .record({
    transactionCount: fc.nat(60),
    pageTransactions: fc.constantFrom(1, 2, 4, 64),
    firstTransaction: fc.constantFrom(0, 1, 2_050),
  })
  .map((counts) => counts as unknown as StoredGroup);
const pageOf = (group: StoredGroup, transaction: number) =>
  Math.floor(transaction / group.pageTransactions);
const listOf = ({ transactionCount }: StoredGroup) =>
  Array.from({ length: transactionCount }, (_, transaction) => transaction);

test('property: the position of a transaction in memory is the number of earlier transactions in pages that are read', () => {
  const cases = groups.chain((group) => {
    const pageCount = Math.ceil(group.transactionCount / group.pageTransactions);
    const marks = fc.array(fc.boolean(), { minLength: pageCount, maxLength: pageCount });
    return fc.tuple(fc.constant(group), marks);
  });
  fc.assert(
    fc.property(cases, ([group, wanted]) => {
      const set = new PageSet({ number: 0, group }, Uint8Array.from(wanted, Number));
      const isRead = (transaction: number) => wanted[pageOf(group, transaction)] === true;
      for (let transaction = 0; transaction <= group.transactionCount; transaction++) {
        const before = listOf(group).filter((other) => other < transaction && isRead(other));
        expect(set.positionOf(transaction), `transaction ${transaction}`).toBe(before.length);
      }
      expect(set.transactionCount).toBe(listOf(group).filter(isRead).length);
      expect([...set.pages]).toEqual(wanted.flatMap((isWanted, page) => (isWanted ? [page] : [])));
    }),
    { numRuns: 300 },
  );
});

test("property: a query reads the pages of its items' candidates in the span of the group", () => {
  const cases = groups.chain((group) => {
    const lists = fc.array(fc.uniqueArray(fc.nat(2_200), { maxLength: 30 }), { maxLength: 3 });
    const cuts = fc.array(fc.nat(60), { minLength: 2, maxLength: 2 });
    return fc.tuple(fc.constant(group), lists, fc.boolean(), cuts);
  });
  fc.assert(
    fc.property(cases, ([group, lists, hasRewards, cuts]) => {
      const [low, high] = cuts.map((cut) => Math.min(cut, group.transactionCount)).sort(ascending);
      const first = group.firstTransaction + (low ?? 0);
      const span = { first, end: group.firstTransaction + (high ?? 0) };
      const items = lists.map((list) => itemOf('instructions', list));
      if (hasRewards) items.push(itemOf('rewards', undefined));
      const wanted = new Set(
        lists
          .flat()
          .filter((transaction) => transaction >= span.first && transaction < span.end)
          .map((transaction) => pageOf(group, transaction - group.firstTransaction)),
      );
      expect(pagesIn(group, items, span)).toEqual([...wanted].sort(ascending));
      const all = pagesIn(group, [...items, itemOf('logs', undefined)], span);
      for (let transaction = span.first; transaction < span.end; transaction++)
        expect(all).toContain(pageOf(group, transaction - group.firstTransaction));
      if (span.end === span.first) expect(all).toHaveLength(0);
    }),
    { numRuns: 200 },
  );
});

const ascending = (a: number, b: number) => a - b;

function pagesIn(
  group: StoredGroup,
  items: readonly PlannedItem[],
  span: TransactionSpan,
): number[] {
  return pagesOf([{ number: 0, group }], items, span).flatMap(({ pages }) => [...pages]);
}

/** Returns an item with these candidates, or one that can match anywhere. */
function itemOf(array: PlannedItem['array'], list: readonly number[] | undefined): PlannedItem {
  const driving = list && {
    name: 'account',
    transactions: Uint32Array.from(list).sort(),
  };
  return { array, driving } as PlannedItem;
}
