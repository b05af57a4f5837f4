import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GroupEntry } from '../segment/directory.ts';
import { PageSet, pagesOf } from './page-set.ts';
import type { PlannedItem } from './plan-items.ts';

const groups = fc
  .record({
    transactionCount: fc.nat(60),
    pageTransactions: fc.constantFrom(1, 2, 4, 64),
    firstTransaction: fc.constantFrom(0, 1, 2_050),
  })
  .map((counts) => counts as unknown as GroupEntry);
const pageOf = (group: GroupEntry, transaction: number) =>
  Math.floor(transaction / group.pageTransactions);
const listOf = ({ transactionCount }: GroupEntry) =>
  Array.from({ length: transactionCount }, (_, transaction) => transaction);

test('property: the place of a transaction is how many before it are in pages that are read', () => {
  const cases = groups.chain((group) => {
    const pageCount = Math.ceil(group.transactionCount / group.pageTransactions);
    const marks = fc.array(fc.boolean(), { minLength: pageCount, maxLength: pageCount });
    return fc.tuple(fc.constant(group), marks);
  });
  fc.assert(
    fc.property(cases, ([group, wanted]) => {
      const set = new PageSet(group, Uint8Array.from(wanted, Number));
      const isRead = (transaction: number) => wanted[pageOf(group, transaction)] === true;
      for (let transaction = 0; transaction <= group.transactionCount; transaction++) {
        const before = listOf(group).filter((other) => other < transaction && isRead(other));
        expect(set.placeOf(transaction), `transaction ${transaction}`).toBe(before.length);
      }
      expect(set.transactionCount).toBe(listOf(group).filter(isRead).length);
      expect([...set.pages]).toEqual(wanted.flatMap((isWanted, page) => (isWanted ? [page] : [])));
    }),
    { numRuns: 300 },
  );
});

test('property: the pages of a query are those of the candidates that its items have in the group', () => {
  const cases = groups.chain((group) => {
    const lists = fc.array(fc.uniqueArray(fc.nat(2_200), { maxLength: 30 }), { maxLength: 3 });
    return fc.tuple(fc.constant(group), lists, fc.boolean());
  });
  fc.assert(
    fc.property(cases, ([group, lists, hasRewards]) => {
      const items = lists.map((list) => itemOf('instructions', list));
      if (hasRewards) items.push(itemOf('rewards', undefined));
      const wanted = new Set(
        lists
          .flat()
          .map((transaction) => transaction - group.firstTransaction)
          .filter((transaction) => transaction >= 0 && transaction < group.transactionCount)
          .map((transaction) => pageOf(group, transaction)),
      );
      expect([...pagesOf(group, items).pages]).toEqual([...wanted].sort((a, b) => a - b));
      const all = pagesOf(group, [...items, itemOf('logs', undefined)]);
      expect(all.transactionCount).toBe(group.transactionCount);
    }),
    { numRuns: 200 },
  );
});

/** An item with the candidates, or one that can match anywhere. */
function itemOf(array: PlannedItem['array'], list: readonly number[] | undefined): PlannedItem {
  const driving = list && {
    name: 'account',
    transactions: Uint32Array.from(list).sort(),
  };
  return { array, driving } as PlannedItem;
}
