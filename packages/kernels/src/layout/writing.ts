/**
 * The numbers that the engine and its kernel share when they write records as JSON. This file is TypeScript and AssemblyScript at
 * once: the engine imports it, and `assembly/engine/write-values.ts` is compiled with it. It therefore has only integer constants without
 * a type. Offsets are in bytes, of fields of 4 bytes.
 */

/** The codes of steps: what each writes. */
export const STEP_UINT = 0;
export const STEP_ULONG = 1;
export const STEP_LONG = 2;
export const STEP_KEY = 3;
export const STEP_KEY_OR_NULL = 4;
export const STEP_KEYS = 5;
export const STEP_STATIC_KEYS = 6;
export const STEP_TEXT = 7;
export const STEP_CODED_TEXT = 8;
export const STEP_HEX = 9;
export const STEP_RAW_TEXT = 10;
export const STEP_FLAG = 11;
export const STEP_COMMITTED = 12;
export const STEP_VERSION = 13;
export const STEP_SIGNATURES = 14;
export const STEP_LOOKUPS = 15;
export const STEP_LOADED = 16;
export const STEP_PAYER = 17;
export const STEP_LOG_KIND = 18;
export const STEP_UINT_OR_NULL = 19;
export const STEP_KEY_ID = 20;
export const STEP_TRANSACTION_UINT = 21;
export const STEP_INSTRUCTION_TEXT = 22;
export const STEP_DATA = 23;
export const STEP_DECODED = 24;

/** One step: its code, the text before the value, and operands whose meaning depends on the code. */
export const STEP_CODE = 0;
export const STEP_TEXT_LENGTH = 4;
export const STEP_P0 = 8;
export const STEP_P1 = 12;
export const STEP_W0 = 16;
export const STEP_P2 = 20;
export const STEP_W1 = 24;
export const STEP_P3 = 28;
export const STEP_LABEL = 32;
export const STEP_LABEL_BYTES = 32;
export const STEP_BYTES = 64;

/** One kind of record: its steps, and its selected rows. */
export const KIND_STEPS = 0;
export const KIND_STEP_COUNT = 4;
export const KIND_FLAGS = 8;
export const KIND_STARTS = 12;
export const KIND_LABEL = 16;
export const KIND_LABEL_LENGTH = 20;
/** The bit of the kind in the mark of a transaction. */
export const KIND_MARK = 24;
export const KIND_BYTES = 32;

// The table for the lines of a row group.
/** The marks of its transactions; 0 if nothing is selected. */
export const LINES_MARKS = 0;
/** For each block 16 bytes: its first transaction and the end of its transactions, its first reward and the end of its rewards. */
export const LINES_BLOCKS = 4;
/** The index in the segment of the first of these blocks. */
export const LINES_FIRST_BLOCK = 8;
/** For each block of the segment 8 bytes: the address of its header's text, or 0 if the text is not in memory, and its length. */
export const LINES_HEADERS = 12;
/** Whether blocks without records get a line. */
export const LINES_IS_ALL = 16;
/** A block that always gets a line. */
export const LINES_ALWAYS = 20;
export const LINES_BYTES = 32;

/** The table of a step that writes address table lookups: addresses of its columns, and their widths. */
export const LOOKUPS_KEYS = 0;
export const LOOKUPS_KEY_WIDTH = 4;
export const LOOKUPS_READONLY_COUNTS = 8;
export const LOOKUPS_READONLY_WIDTH = 12;
export const LOOKUPS_INDEX_STARTS = 16;
export const LOOKUPS_INDEXES = 20;
export const LOOKUPS_INDEX_WIDTH = 24;
export const LOOKUPS_BYTES = 32;

/** The bytes of a header's entry, and where it has the length. */
export const HEADER_ENTRY_BYTES = 8;
export const HEADER_LENGTH = 4;

/** The position at which writing stopped. */
export const STATE_BLOCK = 0;
export const STATE_IS_IN_LINE = 4;
export const STATE_KIND = 8;
export const STATE_TRANSACTION = 12;
export const STATE_ROW = 16;
export const STATE_IS_IN_ARRAY = 20;
export const STATE_LINE_COUNT = 24;
export const STATE_LAST_LINE = 28;
export const STATE_BYTES = 32;

/** The rows of a block: transactions and rewards, each by the first and the end. */
export const BLOCK_FIRST_TRANSACTION = 0;
export const BLOCK_TRANSACTION_END = 4;
export const BLOCK_FIRST_REWARD = 8;
export const BLOCK_REWARD_END = 12;
export const BLOCK_BYTES = 16;

/** A key takes this much memory: its 32 bytes, or its quoted text with the length of the text in the last byte. */
export const KEY_TEXT_BYTES = 48;

/** The number of kinds, and the last of them, whose rows belong to blocks. The order is that of the arrays in a line. */
export const KIND_COUNT = 6;
export const KIND_REWARDS = 5;
