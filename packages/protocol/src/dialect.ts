/** The wire formats of a response. A query chooses one by its `type`. The field table describes the differences. */
export const DIALECTS = ['ledger', 'solana'] as const;

export type Dialect = (typeof DIALECTS)[number];

/** The dialect of a query without `type`. Every dataset allows it. */
export const DIALECT_DEFAULT = 'ledger' satisfies Dialect;
