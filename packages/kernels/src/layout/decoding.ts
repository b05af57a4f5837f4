/**
 * The numbers that the compiler of decoders, the engine and its kernel share when they decode instructions and events. This file is
 * TypeScript and AssemblyScript at once, and therefore has only integer constants without a type. Offsets are in bytes, of fields of 4
 * bytes. A decoder has no absolute addresses: its offsets are relative to its start. A text in it is its length and its bytes, padded to a
 * multiple of 4.
 */

/** A decoder: whether the program has events, and the offsets of the text of its address and of the texts for data without a layout. */
export const DECODER_HAS_EVENTS = 0;
export const DECODER_ADDRESS = 4;
export const DECODER_NO_INSTRUCTION = 8;
export const DECODER_NO_EVENT = 12;
/** For each first byte, and for data without bytes, the offset of the list of layouts that may match: their number and their offsets. */
export const DECODER_INSTRUCTIONS = 16;
export const DECODER_EVENTS = 1044;
export const DECODER_BYTES = 2072;

/** A layout: the length of the data or ANY_LENGTH, the bytes before the fields, and the offset of the code that reads the fields. */
export const LAYOUT_BYTE_LENGTH = 0;
export const LAYOUT_FIELDS_AT = 4;
export const LAYOUT_CODE = 8;
/** The offset of the accounts, their number, how many are required, and whether each is passed at its position. */
export const LAYOUT_ACCOUNTS = 12;
export const LAYOUT_ACCOUNT_COUNT = 16;
export const LAYOUT_REQUIRED_COUNT = 20;
export const LAYOUT_IS_PLAIN = 24;
/** The number of discriminators. They follow, each with the offset of its bytes in the data, and the bytes as a text. */
export const LAYOUT_DISCRIMINATOR_COUNT = 28;
export const LAYOUT_BYTES = 32;
export const ANY_LENGTH = -1;

/** An account: how an absent one is recognized. The text before its value follows, then its constant address, or a text of length 0. */
export const ACCOUNT_ABSENT = 0;
export const ACCOUNT_LABEL = 4;
export const ABSENT_NEVER = 0;
export const ABSENT_PROGRAM = 1;
export const ABSENT_OMITTED = 2;

/** The operations of code. Each has its operands in the words after it. `[…]` is code that ends with OP_END. */
export const OP_END = 0;
/** length · bytes: writes a text. */
export const OP_TEXT = 1;
/** Integers of 1, 2, 4 and 8 bytes. */
export const OP_U8 = 2;
export const OP_U16 = 3;
export const OP_U32 = 4;
export const OP_U64 = 5;
export const OP_I8 = 6;
export const OP_I16 = 7;
export const OP_I32 = 8;
export const OP_I64 = 9;
/** byteCount · isSigned · isBigEndian: any other integer. */
export const OP_INTEGER = 10;
/** bytesMax: an integer of variable length. */
export const OP_SHORT = 11;
/** number: a boolean of this size. */
export const OP_BOOLEAN = 12;
/** OP_KEY reads an address of 32 bytes. OP_BYTES reads all remaining bytes, written as hexadecimal digits; OP_UTF8 writes them as a text. */
export const OP_KEY = 13;
export const OP_BYTES = 14;
export const OP_UTF8 = 15;
/** The operations up to OP_SILENT have their length as first operand. number · isPadded · […]: a value in a range of this many bytes. */
export const OP_SIZED = 16;
/** sentinel · […]: a value before these bytes. */
export const OP_TERMINATED = 17;
/** number · […]: a list of this many items. */
export const OP_LIST = 18;
/** number · isFixed · […]: an optional value after a flag. */
export const OP_OPTION = 19;
/** […]: a value if any bytes are left. */
export const OP_REMAINDER_OPTION = 20;
/** none · […]: a value that is null if it has these bytes. */
export const OP_ZEROABLE = 21;
/** number · count · the number and the offset of each variant · […] of each variant. */
export const OP_ENUM = 22;
/** from · by · from · by · […]: a value whose position is changed before and after it is read. */
export const OP_MOVED = 23;
/** […]: a value whose text is not written. */
export const OP_SILENT = 24;
/** offset: the code of a defined type. It has no length. */
export const OP_CALL = 25;
/** A value that only the host decodes. It has no operands. */
export const OP_HOST = 26;

/** A number, in two words: its kind, and its value, the bytes that it takes, or the most bytes that it takes. */
export const NUMBER_CONSTANT = 0;
export const NUMBER_LITTLE = 1;
export const NUMBER_BIG = 2;
export const NUMBER_SHORT = 3;
/** The list has no count: it ends where the data ends. */
export const NUMBER_REMAINDER = 4;

/** From where a position is counted. */
export const MOVE_NONE = 0;
export const MOVE_HERE = 1;
export const MOVE_START = 2;
export const MOVE_VALUE = 3;

/** What the kernel needs from the host before it can write the next row, if not 0: the decoder of a program, or the text of a row. */
export const DECODING_NEED = 0;
export const NEED_DECODER = 1;
export const NEED_INSTRUCTION = 2;
export const NEED_LOG = 3;
/** The id of the program's key, or the row; and the transaction. */
export const DECODING_NEEDED = 4;
export const DECODING_TRANSACTION = 8;
/** The row that the host has decoded: NEED_INSTRUCTION, NEED_LOG or 0, the row, and the address and length of its text. */
export const DECODING_HOST_KIND = 12;
export const DECODING_HOST_ROW = 16;
export const DECODING_HOST_TEXT = 20;
export const DECODING_HOST_LENGTH = 24;
/** The next row, if rows are written without lines. */
export const DECODING_NEXT_ROW = 28;
/** The addresses of columns, first those of keys: where those of each transaction start, their ids, and the texts by id. */
export const DECODING_COLUMNS = 32;
export const DECODING_KEY_STARTS = 32;
export const DECODING_KEYS = 36;
export const DECODING_KEY_TABLE = 40;
export const DECODING_INS_PROGRAM = 44;
export const DECODING_INS_ACCOUNTS = 48;
export const DECODING_INS_DEPTH = 52;
export const DECODING_INS_STARTS = 56;
export const DECODING_ACCOUNT_STARTS = 60;
export const DECODING_DATA_STARTS = 64;
export const DECODING_DATA = 68;
export const DECODING_LOG_KIND = 72;
export const DECODING_LOG_PROGRAM = 76;
export const DECODING_LOG_INSTRUCTION = 80;
export const DECODING_LOG_STARTS = 84;
export const DECODING_MESSAGE_STARTS = 88;
export const DECODING_MESSAGES = 92;
export const DECODING_ADDRESS_STARTS = 96;
export const DECODING_ADDRESSES = 100;
/** A hash table from the id of a program's key to its decoder: the id plus one, the block up to which the entry holds, the decoder. */
export const DECODING_DECODERS = 112;
export const DECODER_ENTRY_BYTES = 16;
export const DECODER_ENTRY_COUNT = 1024;
/** The host clears the table when this many entries are used. */
export const DECODER_ENTRY_COUNT_MAX = 512;
export const DECODING_BYTES = 16496;

/** A simple layout, whose values the kernel reads into columns: the id of the program's key, and how many bytes the data has at least. */
export const SIMPLE_PROGRAM = 0;
export const SIMPLE_BYTES_MIN = 4;
/** The address and length of the bytes with which the data starts. */
export const SIMPLE_TAG = 8;
export const SIMPLE_TAG_LENGTH = 12;
/** How many values and how many accounts the layout has. Their entries follow it: first those of the values, then those of the accounts. */
export const SIMPLE_VALUE_COUNT = 16;
export const SIMPLE_ACCOUNT_COUNT = 20;
export const SIMPLE_BYTES = 24;
/** A value: its offset in the data, OP_U8 to OP_I64, and the address of its column. Those of 64 bits take 8 bytes there, others 4. */
export const SIMPLE_VALUE_BYTES = 12;
/** An account: its number among those that are passed, or -1, and the address of the column with this number, or -1 if it was not passed. */
export const SIMPLE_ACCOUNT_BYTES = 8;

/** A simple event, whose values the kernel reads into columns. It starts as a simple layout does, and then has the addresses of two lists: */
/** for each event the position of its instruction in the list of rows, and its position among the events of this instruction. */
export const EVENT_POSITIONS = 24;
export const EVENT_INDEXES = 28;
/** How many instructions are known that can emit it. */
export const EVENT_CALLER_COUNT = 32;
export const EVENT_BYTES = 36;
/** The values follow: as those of a simple layout, or OP_BOOLEAN, or OP_KEY with the addresses of the starts of the texts and of their bytes. */
export const EVENT_VALUE_BYTES = 16;
/** Then the addresses of the columns of accounts, and then the instructions: how their data starts, its least length, and for each column the */
/** number of the account among those that are passed, or -1. */
export const CALLER_TAG = 0;
export const CALLER_TAG_LENGTH = 4;
export const CALLER_BYTES_MIN = 8;
export const CALLER_BYTES = 12;
/** The number of events if the host reads them. */
export const EVENTS_OF_HOST = -1;
