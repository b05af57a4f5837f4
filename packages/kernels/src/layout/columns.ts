/**
 * The ids of the columns of a segment, and how a page of them is described to the kernels. This file is TypeScript and
 * AssemblyScript at once: `segment/layout/columns.ts` and the kernels use the same constants. It therefore has only integer constants
 * without a type. An id is stored in every segment and is never used for another column.
 */

// Transactions.
export const TX_INDEX = 0;
export const TX_VERSION = 1;
export const TX_REQUIRED_SIGNATURES = 2;
export const TX_READONLY_SIGNED = 3;
export const TX_READONLY_UNSIGNED = 4;
export const TX_STATIC_COUNT = 5;
export const TX_WRITABLE_COUNT = 6;
export const TX_READONLY_COUNT = 7;
export const TX_OTHER_COUNT = 8;
export const TX_KEYS = 9;
export const TX_BLOCKHASH = 10;
export const TX_SIGNATURE_COUNT = 11;
export const TX_SIGNATURES = 12;
export const TX_ERR = 13;
export const TX_FEE = 14;
export const TX_FEE_NULL = 15;
export const TX_UNITS = 16;
export const TX_UNITS_NULL = 17;
export const TX_DROPPED = 18;
export const TX_LOOKUP_COUNT = 19;
export const TX_INSTRUCTION_COUNT = 20;
export const TX_LOG_COUNT = 21;
export const TX_BALANCE_COUNT = 22;
export const TX_TOKEN_BALANCE_COUNT = 23;

// Address table lookups of transactions.
export const LOOKUP_KEY = 24;
export const LOOKUP_READONLY_COUNT = 25;
export const LOOKUP_WRITABLE_COUNT = 26;
export const LOOKUP_INDEXES = 27;

// Instructions.
export const INS_DEPTH = 28;
export const INS_ODD = 29;
export const INS_ODD_STEPS = 30;
export const INS_PROGRAM = 31;
export const INS_ACCOUNT_COUNT = 32;
export const INS_ACCOUNTS = 33;
export const INS_DATA_LENGTH = 34;
export const INS_DATA = 35;
export const INS_ERROR = 36;
export const INS_UNITS = 37;
export const INS_UNITS_NULL = 38;
export const INS_FLAGS = 39;

// Logs.
export const LOG_INDEX = 40;
export const LOG_INSTRUCTION = 41;
export const LOG_PROGRAM = 42;
export const LOG_KIND = 43;
export const LOG_LENGTH = 44;
export const LOG_TEXT = 45;

// Balances.
export const BAL_ACCOUNT = 46;
export const BAL_PRE = 47;
export const BAL_CHANGE = 48;

// Token balances.
export const TOK_ACCOUNT = 49;
export const TOK_PRE_MINT = 50;
export const TOK_POST_MINT = 51;
export const TOK_PRE_DECIMALS = 52;
export const TOK_POST_DECIMALS = 53;
export const TOK_PRE_PROGRAM = 54;
export const TOK_POST_PROGRAM = 55;
export const TOK_PRE_OWNER = 56;
export const TOK_POST_OWNER = 57;
export const TOK_AMOUNT_NULL = 58;
export const TOK_PRE_AMOUNT = 59;
export const TOK_CHANGE = 60;

// Rewards.
export const REW_KEY = 61;
export const REW_LAMPORTS = 62;
export const REW_POST_BALANCE = 63;
export const REW_TYPE = 64;
export const REW_COMMISSION = 65;

// Texts.
export const TEXT_LENGTH = 66;
export const TEXT_BYTES = 67;

/** The number of columns that the rows of a transaction have: all above except rewards and texts. */
export const TRANSACTION_COLUMN_COUNT = 61;

/** The column `INS_FLAGS`: the outcome of the transaction in its low bits (`OUTCOME_FAILED` and others), and one more bit. */
export const INS_FLAGS_OUTCOME_MASK = 3;
export const INS_FLAGS_DROPPED_LOGS = 4;

/** The outcome of a transaction. */
export const OUTCOME_FAILED = 0;
export const OUTCOME_COMMITTED = 1;
export const OUTCOME_UNKNOWN = 2;

/** The values of the column `LOG_KIND`. */
export const LOG_KIND_LOG = 0;
export const LOG_KIND_DATA = 1;
export const LOG_KIND_OTHER = 2;

/** How the values of a column are coded in a page. */
export const CODING_INT = 0;
export const CODING_LONG = 1;
export const CODING_BYTES = 2;
/** 32-bit integers as zigzag differences from the previous value in the page; the first from 0. */
export const CODING_DELTA = 3;
/** Dictionary ids in order of first appearance: 0 is the next new id, 1 skips some new ids, n + 2 is the known id n. */
export const CODING_KEYS = 4;

/** The description of one column for the decoder of pages. Offsets are in bytes, of fields of 4 bytes. */
export const DESCRIPTOR_CODING = 0;
export const DESCRIPTOR_DOMAIN = 4;
/** The domain whose rows the column counts, plus 1; 0 if it counts none. */
export const DESCRIPTOR_ADDS = 8;
export const DESCRIPTOR_VALUES = 12;
/** Set by the decoder: the number of values. */
export const DESCRIPTOR_COUNT = 16;
export const DESCRIPTOR_CAPACITY = 20;
/** The bytes of a value; for `keys` the highest id before the row group. */
export const DESCRIPTOR_UNIT = 24;
/** The last value; for `keys` the highest id so far. */
export const DESCRIPTOR_LAST = 28;
export const DESCRIPTOR_BYTES = 32;

/** The row counts of one transaction, 4 bytes for each domain. */
export const COUNTS_BYTES = 64;
