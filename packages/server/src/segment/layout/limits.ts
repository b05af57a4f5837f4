/** The limits of a segment and of a row group. Writers start a new one when a limit is reached. */
export const SEGMENT_LIMITS = {
  /** About an hour of the ledger: small enough to build in memory, and a reasonable unit for retention to remove. */
  blockCountMax: 8_192,
  /** 32 MB of keys. The builder's tables and a reader's address index have this size. */
  addressCountMax: 1 << 20,
  /** A reader's marks and a builder's counts have one entry per transaction, so this bounds their size. */
  transactionCountMax: 1 << 24,
} as const;

export const GROUP_LIMITS = {
  /** The decoded columns of a group stay in memory until they are written: a few megabytes if a query selects everything. */
  transactionCountMax: 2_048,
  blockCountMax: 512,
  instructionCountMax: 32_768,
} as const;

export const pageKeyCount = 4_096;

/** Transactions per page: few if a dictionary helps to compress them, more without one. */
export const pageTransactions = { small: 4, large: 64 } as const;

/** The number of accounts whose transactions a segment counts. */
export const busiestAccountsMax = 1_024;
