/**
 * The numbers that the engine and its kernel share when they select rows. This file is TypeScript and AssemblyScript at
 * once: the engine imports it, and `assembly/engine/select.ts` is compiled with it. It therefore has only integer
 * constants without a type. Offsets are in bytes, of fields of 4 bytes.
 */

/** The relations of an item, as bits. */
export const WITH_TRANSACTION = 1;
export const WITH_BALANCES = 2;
export const WITH_TOKEN_BALANCES = 4;
export const WITH_INSTRUCTIONS = 8;
export const WITH_INNER = 16;
export const WITH_PARENTS = 32;
export const WITH_OWN_LOGS = 64;
export const WITH_LOGS = 128;
export const WITH_OWN_INSTRUCTION = 256;

/** The kinds of records in the mark of a transaction, as bits. */
export const MARK_TRANSACTION = 1;
export const MARK_INSTRUCTION = 2;
export const MARK_LOG = 4;
export const MARK_BALANCE = 8;
export const MARK_TOKEN_BALANCE = 16;

/** The value of an item that accepts every outcome (`OUTCOME_FAILED` and others in `columns.ts`). */
export const OUTCOME_ANY = 3;

/** What an address filter of a transaction is compared with. */
export const TARGET_FEE_PAYER = 0;
export const TARGET_ANY_KEY = 1;

/** What an address filter of an instruction is compared with. Targets below `TARGET_PROGRAM` are account positions. */
export const TARGET_PROGRAM = 16;
export const TARGET_ANY_ACCOUNT = 17;

/** The table of one item. */
export const ITEM_FILTERS = 0;
export const ITEM_FILTER_COUNT = 4;
export const ITEM_DATA_FILTERS = 8;
export const ITEM_DATA_FILTER_COUNT = 12;
export const ITEM_OUTCOME = 16;
export const ITEM_RELATIONS = 20;
/** The transactions to scan, as positions in the row group; 0 for all of them. */
export const ITEM_CANDIDATES = 24;
export const ITEM_CANDIDATE_COUNT = 28;
/** The bit of the filter by program; 0 if the item has none. */
export const ITEM_PROGRAM_BIT = 32;
export const ITEM_BYTES = 48;

/** The table of rows, which follows an item of logs, balances or token balances. */
export const ROWS_STARTS = 0;
export const ROWS_FLAGS = 4;
export const ROWS_MARK = 8;
export const ROWS_KINDS = 12;
export const ROWS_KIND_WIDTH = 16;
/** The wanted log kinds as bits; 0 for all. */
export const ROWS_KIND_BITS = 20;
export const ROWS_BYTES = 32;

/** One address filter, or one data filter. */
export const FILTER_BYTES_SHIFT = 4;
export const FILTER_BYTES = 16;
/** A target (above), or the address of a column of positions. */
export const FILTER_TARGET = 0;
/** The shape of that column: its width, the flags below, and the number of values per row. */
export const FILTER_SHAPE = 4;
export const FILTER_VALUE_COUNT = 8;
export const FILTER_VALUES = 12;

export const SHAPE_WIDTH_MASK = 255;
/** The values of the column are positions plus one, and 0 is null. */
export const SHAPE_NULLABLE = 256;
/** The next filter is an alternative to this one: the row matches if one of the two does. */
export const SHAPE_EITHER = 512;
export const SHAPE_STRIDE_SHIFT = 16;

/** A longer list of ids is a bit set over all ids of the segment. */
export const ID_LIST_MAX = 4;

/** One value of a data filter: the bytes, then a mask of the bytes to compare, then their number. */
export const DATA_VALUE_MASK = 16;
export const DATA_VALUE_LENGTH = 32;
export const DATA_VALUE_BYTES = 48;

/** The table of a row group: addresses of its columns, and widths of columns whose width varies. */
export const GROUP_KEY_STARTS = 0;
export const GROUP_KEYS = 4;
export const GROUP_STATIC_COUNTS = 8;
export const GROUP_STATIC_WIDTH = 12;
export const GROUP_WRITABLE_COUNTS = 16;
export const GROUP_WRITABLE_WIDTH = 20;
export const GROUP_READONLY_COUNTS = 24;
export const GROUP_READONLY_WIDTH = 28;
export const GROUP_MARKS = 32;
export const GROUP_TRANSACTION_FLAGS = 36;
export const GROUP_INSTRUCTION_FLAGS = 40;
export const GROUP_LOG_FLAGS = 44;
export const GROUP_BALANCE_FLAGS = 48;
export const GROUP_TOKEN_FLAGS = 52;
export const GROUP_INSTRUCTION_STARTS = 56;
export const GROUP_LOG_STARTS = 60;
export const GROUP_BALANCE_STARTS = 64;
export const GROUP_TOKEN_STARTS = 68;
export const GROUP_DEPTHS = 72;
export const GROUP_DEPTH_WIDTH = 76;
export const GROUP_PROGRAMS = 80;
export const GROUP_PROGRAM_WIDTH = 84;
export const GROUP_ACCOUNTS = 88;
export const GROUP_ACCOUNT_WIDTH = 92;
export const GROUP_ACCOUNT_STARTS = 96;
export const GROUP_DATA = 100;
export const GROUP_DATA_STARTS = 104;
export const GROUP_INSTRUCTION_FIELDS = 108;
export const GROUP_INSTRUCTION_FIELDS_WIDTH = 112;
export const GROUP_LOG_INSTRUCTIONS = 116;
export const GROUP_LOG_INSTRUCTION_WIDTH = 120;
export const GROUP_ERRORS = 124;
export const GROUP_ERROR_WIDTH = 128;
export const GROUP_FEE_NULLS = 132;
export const GROUP_FEE_NULL_WIDTH = 136;
export const GROUP_BYTES = 144;

/** Keys are read in blocks of this many, as a power of two. */
export const BLOCK_KEYS_SHIFT = 11;
