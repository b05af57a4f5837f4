import { ARROW_TABLES } from '@sluice/protocol/arrow-table';
import { RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import { relationRows } from '@sluice/protocol/request-table';
import type { ArrowOutput, FieldLists, Items, Query } from './query.ts';

/**
 * Returns the query whose output is one Arrow table. It selects the same rows of this table as the given one; what cannot contribute a row
 * is left out: items without a relation to the table, other relations, and the fields of other records. The first signature of a transaction
 * identifies it in all tables, so this field stays.
 */
export function selectTable(query: Query, arrow: ArrowOutput): Query {
  const wanted = ARROW_TABLES[arrow.table];
  const items: Items = {
    transactions: query.transactions.flatMap((item) => narrow(item, 'transactions', wanted)),
    instructions: query.instructions.flatMap((item) => narrow(item, 'instructions', wanted)),
    logs: query.logs.flatMap((item) => narrow(item, 'logs', wanted)),
    balances: query.balances.flatMap((item) => narrow(item, 'balances', wanted)),
    tokenBalances: query.tokenBalances.flatMap((item) => narrow(item, 'tokenBalances', wanted)),
    rewards: query.rewards.flatMap((item) => narrow(item, 'rewards', wanted)),
  };
  return { ...query, ...items, fields: narrowFields(query.fields, wanted), arrow };
}

function narrowFields(fields: FieldLists, wanted: RecordArray | undefined): FieldLists {
  const kind = wanted === undefined ? undefined : RECORD_ARRAYS[wanted];
  const { transaction, ...none } = noFields;
  const rows = kind === undefined ? {} : { [kind]: fields[kind] };
  const hasSignature = kind !== undefined && kind !== 'reward';
  const signatures = fields.transaction.filter((name) => name === 'signatures');
  return {
    ...none,
    block: fields.block,
    transaction: hasSignature ? signatures : transaction,
    ...rows,
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

/** Returns the item without other relations, if it can contribute a row. Every item can contribute a block. */
function narrow<I extends { readonly relations: object }>(
  item: I,
  array: RecordArray,
  wanted: RecordArray | undefined,
): I[] {
  const brought = new Set<string>(
    relationRows(array).flatMap(([name, { brings }]) => (brings === wanted ? [name] : [])),
  );
  const relations = Object.fromEntries(
    Object.entries(item.relations).map(([name, isWanted]) => [
      name,
      isWanted === true && brought.has(name),
    ]),
  );
  const isUseful =
    wanted === undefined || array === wanted || Object.values(relations).includes(true);
  return isUseful ? [{ ...item, relations } as I] : [];
}
