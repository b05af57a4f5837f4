/** The wire forms of an answer. A query chooses one by its `type`; what differs is in the table of fields. */
export const DIALECTS = ['ledger', 'solana'] as const;

export type Dialect = (typeof DIALECTS)[number];

/** What a query without `type` speaks, and what every dataset allows. */
export const DIALECT_DEFAULT = 'ledger' satisfies Dialect;
