/** Where one segment, and one row group in it, ends. */
export const SEGMENT_LIMITS = {
  /** A range of this many blocks is about an hour of the ledger: small enough to build in memory and to lose to a trim. */
  blockCountMax: 8_192,
  /** 32 MB of keys: what the builder's tables and a reader's address index are sized by. */
  addressCountMax: 1 << 20,
  /** What a reader's marks and a builder's counts are sized by. */
  transactionCountMax: 1 << 24,
} as const;

export const GROUP_LIMITS = {
  /** What a query decodes of a group is held in memory until it is written: a few megabytes where all is wanted. */
  transactionCountMax: 2_048,
  blockCountMax: 512,
  instructionCountMax: 32_768,
} as const;

/** Addresses a page of the postings. */
export const pageKeyCount = 4_096;

/** Transactions a page: few where a dictionary helps to compress them, more where a page stands alone. */
export const pageTransactions = { small: 4, large: 64 } as const;

/** Accounts that a segment counts the transactions of. */
export const busiestAccountsMax = 1_024;
