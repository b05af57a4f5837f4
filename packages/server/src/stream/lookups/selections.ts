import { type FieldRow, fieldRows, selectEveryField } from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { parseQuery } from '../../query/parse-query.ts';
import type { Selection } from '../../query/query.ts';

const everything = {
  includeAllBlocks: true,
  transactions: [{}],
  instructions: [{}],
  logs: [{}],
  balances: [{}],
  tokenBalances: [{}],
  rewards: [{}],
};

/** Every record of a block, with every field. */
export const WHOLE_BLOCK: Selection = select(everything);

/** Every record of a block, with the fields that are stored. Its lines are the input of digests: a new field needs a new version of them. */
export const STORED_BLOCK: Selection = select(everything, ({ derived }) => derived !== true);

/** Every record of a transaction, with every field. */
export const WHOLE_TRANSACTION: Selection = select({
  transactions: [{ instructions: true, logs: true, balances: true, tokenBalances: true }],
});

/** The same without logs, which would be the largest part of a list of transactions. */
export const LISTED_TRANSACTION: Selection = select({
  transactions: [{ instructions: true, balances: true, tokenBalances: true }],
});

function select(items: object, isWanted: (row: FieldRow) => boolean = () => true): Selection {
  const fields = selectEveryField('ledger', (kind, name) =>
    fieldRows(kind).some(([other, row]) => other === name && isWanted(row)),
  );
  const options = { limits: QUERY_LIMITS, dialects: ['ledger'] } as const;
  return parseQuery({ fromBlock: 0, fields, ...items }, options);
}
