import { ARROW_TABLES } from '@sluice/protocol/arrow-table';
import { RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import { relationRows } from '@sluice/protocol/request-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { ArrowOutput, FieldLists, Item, Items, Query } from './query.ts';

/**
 * Returns the query whose output is one Arrow table. It selects the same rows of this table as the given one; what cannot contribute a row
 * is left out: items without a relation to the table, other relations, and the fields of other records. The first signature of a transaction
 * identifies it in all tables, so this field stays.
 */
export function selectTable(query: Query, arrow: ArrowOutput): Query {
  const wanted = ARROW_TABLES[arrow.table];
  const items: Items = {
    transactions: narrow(query, 'transactions', wanted),
    instructions: narrow(query, 'instructions', wanted),
    logs: narrow(query, 'logs', wanted),
    balances: narrow(query, 'balances', wanted),
    tokenBalances: narrow(query, 'tokenBalances', wanted),
    rewards: narrow(query, 'rewards', wanted),
  };
  return { ...query, ...items, fields: narrowFields(query.fields, wanted), arrow };
}

function narrowFields(fields: FieldLists, wanted: RecordArray | undefined): FieldLists {
  const kind = wanted === undefined ? undefined : RECORD_ARRAYS[wanted];
  const { transaction, ...none } = noFields;
  const own = kind === undefined ? {} : { [kind]: fields[kind] };
  const hasSignature = kind !== undefined && kind !== 'reward';
  const signatures = fields.transaction.filter((name) => name === 'signatures');
  return {
    ...none,
    block: fields.block,
    transaction: hasSignature ? signatures : transaction,
    ...own,
  };
}

const noFields: Omit<FieldLists, 'block'> = {
  transaction: [],
  instruction: [],
  log: [],
  balance: [],
  tokenBalance: [],
  reward: [],
};

/** Returns the items that can contribute a row. Every item can contribute a block. */
function narrow<A extends RecordArray>(
  query: Query,
  own: A,
  wanted: RecordArray | undefined,
): Items[A] {
  const brings = new Map<string, RecordArray>(
    relationRows(own).map(([name, row]) => [name, row.brings]),
  );
  const items = query[own] as readonly Item<A>[];
  const narrowed = items.flatMap((item) => {
    const names = Object.keys(item.relations) as (keyof Item<A>['relations'] & string)[];
    const relations = mapKeys(
      names,
      (name) => item.relations[name] && wanted !== undefined && brings.get(name) === wanted,
    );
    const isUseful =
      wanted === undefined || own === wanted || Object.values(relations).includes(true);
    return isUseful ? [{ ...item, relations }] : [];
  });
  return narrowed as unknown as Items[A];
}
