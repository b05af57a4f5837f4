import { fieldNames, KINDS } from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { parseQuery } from '../../query/parse-query.ts';
import type { Selection } from '../../query/query.ts';

const fields = Object.fromEntries(
  KINDS.map((kind) => [
    kind,
    Object.fromEntries(fieldNames(kind, 'ledger').map((name) => [name, true])),
  ]),
);

/** Every record of a block, with every field. */
export const WHOLE_BLOCK: Selection = select({
  includeAllBlocks: true,
  transactions: [{}],
  instructions: [{}],
  logs: [{}],
  balances: [{}],
  tokenBalances: [{}],
  rewards: [{}],
});

/** Every record of a transaction, with every field. */
export const WHOLE_TRANSACTION: Selection = select({
  transactions: [{ instructions: true, logs: true, balances: true, tokenBalances: true }],
});

/** The same without logs, which would be the largest part of a list of transactions. */
export const LISTED_TRANSACTION: Selection = select({
  transactions: [{ instructions: true, balances: true, tokenBalances: true }],
});

function select(items: object): Selection {
  const options = { limits: QUERY_LIMITS, dialects: ['ledger'] } as const;
  return parseQuery({ fromBlock: 0, fields, ...items }, options);
}
