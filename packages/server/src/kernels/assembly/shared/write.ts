// Writing selected rows as JSON. A kind of record is written by a short program: one step a field, each with the text
// before its value (`,"programId":`) and where the value comes from. The host fills in the addresses of the columns for
// every row group; the kernel knows no field by name. The layouts of steps, kinds and tables are in `layout/writing.ts`.
import {
  STEP_UINT as UINT, STEP_ULONG as ULONG, STEP_LONG as LONG, STEP_KEY as KEY, STEP_KEY_OR_NULL as KEY_OR_NULL,
  STEP_KEYS as KEYS, STEP_STATIC_KEYS as STATIC_KEYS, STEP_TEXT as TEXT, STEP_CODED_TEXT as CODED_TEXT, STEP_HEX as HEX,
  STEP_RAW_TEXT as RAW_TEXT, STEP_FLAG as FLAG, STEP_COMMITTED as COMMITTED, STEP_VERSION as VERSION,
  STEP_SIGNATURES as SIGNATURES, STEP_LOOKUPS as LOOKUPS, STEP_LOADED as LOADED, STEP_PAYER as PAYER,
  STEP_LOG_KIND as LOG_KIND, STEP_UINT_OR_NULL as UINT_OR_NULL, STEP_KEY_ID as KEY_ID,
  STEP_TRANSACTION_UINT as TRANSACTION_UINT, STEP_INSTRUCTION_TEXT as INSTRUCTION_TEXT, STEP_DATA as DATA,
  KIND_BYTES, STEP_BYTES,
  KIND_FLAGS, KIND_LABEL, KIND_LABEL_LENGTH, KIND_MARK, KIND_STARTS, KIND_STEPS, KIND_STEP_COUNT, LINES_ALWAYS,
  LINES_BLOCKS, LINES_FIRST_BLOCK, LINES_HEADERS, LINES_HEADER_STARTS, LINES_IS_ALL, LINES_MARKS, STATE_BLOCK,
  STATE_IS_IN_ARRAY, STATE_IS_IN_LINE, STATE_KIND, STATE_LAST_LINE, STATE_LINE_COUNT, STATE_ROW, STATE_TRANSACTION,
  STEP_CODE, STEP_LABEL, STEP_P0, STEP_P1, STEP_P2, STEP_P3, STEP_TEXT_LENGTH, STEP_W0, STEP_W1,
} from '../../layout/writing';
import { base58Encode } from './base58';
import { loadInt, loadLong } from './columns';
import { writeDataText } from './data-texts';
import { writeUint, writeUlong } from './integers';
import { keyText } from './texts';

/** No value of fixed size, with the text before it, is longer. */
const STEP_OUTPUT_MAX: u32 = 128;

/** Of the group at hand: where each transaction's keys start, the keys, and by key where its room is. */
let keyStarts: usize = 0;
let keys: usize = 0;
let rooms: usize = 0;

/** Whether a record was given up because a key of it has no room. It is written again when it has one. */
let isKeyMissing: bool = false;

export function takeKeyMissing(): bool {
  const isMissing = isKeyMissing;
  isKeyMissing = false;
  return isMissing;
}

export function setKeys(starts: usize, ids: usize, keyRooms: usize): void {
  keyStarts = starts;
  keys = ids;
  rooms = keyRooms;
}

// Where writing stopped for want of room. `saveState` and `loadState` let queries take turns in the middle of a block.
let stoppedBlock: u32 = 0;
let isInLine: u32 = 0;
let stoppedKind: u32 = 0;
let stoppedTransaction: u32 = 0;
let stoppedRow: u32 = 0;
let stoppedInArray: u32 = 0;
let lineCount: u32 = 0;
let lastLine: u32 = 0;
let limit: usize = 0;

function saveState(state: usize): void {
  store<u32>(state, stoppedBlock, STATE_BLOCK);
  store<u32>(state, isInLine, STATE_IS_IN_LINE);
  store<u32>(state, stoppedKind, STATE_KIND);
  store<u32>(state, stoppedTransaction, STATE_TRANSACTION);
  store<u32>(state, stoppedRow, STATE_ROW);
  store<u32>(state, stoppedInArray, STATE_IS_IN_ARRAY);
  store<u32>(state, lineCount, STATE_LINE_COUNT);
  store<u32>(state, lastLine, STATE_LAST_LINE);
}

function loadState(state: usize): void {
  stoppedBlock = load<u32>(state, STATE_BLOCK);
  isInLine = load<u32>(state, STATE_IS_IN_LINE);
  stoppedKind = load<u32>(state, STATE_KIND);
  stoppedTransaction = load<u32>(state, STATE_TRANSACTION);
  stoppedRow = load<u32>(state, STATE_ROW);
  stoppedInArray = load<u32>(state, STATE_IS_IN_ARRAY);
  lineCount = load<u32>(state, STATE_LINE_COUNT);
  lastLine = load<u32>(state, STATE_LAST_LINE);
}

// @ts-ignore: decorator
@inline
function copyText(from: usize, length: u32, out: usize): usize {
  v128.store(out, v128.load(from));
  for (let copied: u32 = 16; copied < length; copied += 16) v128.store(out + copied, v128.load(from + copied));
  return out + length;
}

// @ts-ignore: decorator
@inline
function writeKeyId(id: u32, out: usize): usize {
  const text: usize = load<u32>(rooms + (id << 2));
  if (text == 0) {
    isKeyMissing = true;
    return out;
  }
  const length = keyText(text);
  v128.store(out, v128.load(text));
  v128.store(out, v128.load(text, 16), 16);
  v128.store(out, v128.load(text, 32), 32);
  return out + length;
}

// @ts-ignore: decorator
@inline
function writeNull(out: usize): usize {
  store<u32>(out, 0x6c6c756e);
  return out + 4;
}

// @ts-ignore: decorator
@inline
function writeBoolean(value: bool, out: usize): usize {
  if (value) {
    store<u32>(out, 0x65757274);
    return out + 4;
  }
  store<u64>(out, 0x65736c6166);
  return out + 5;
}

function writeKeyRange(from: u32, end: u32, out: usize): usize {
  if (out + (end - from) * 48 + 64 > limit) return 0;
  store<u8>(out++, 0x5b);
  for (let i = from; i < end; i++) {
    out = writeKeyId(load<u32>(keys + (i << 2)), out);
    store<u8>(out++, 0x2c);
  }
  if (end > from) out--;
  store<u8>(out++, 0x5d);
  return out;
}

function writeIndexes(indexes: usize, width: u32, from: u32, end: u32, out: usize): usize {
  if (out + (end - from) * 12 + 64 > limit) return 0;
  store<u8>(out++, 0x5b);
  for (let i = from; i < end; i++) {
    if (i > from) store<u8>(out++, 0x2c);
    out = writeUint(loadInt(indexes, width, i), out);
  }
  store<u8>(out++, 0x5d);
  return out;
}

const READONLY_TEXT = memory.data<u8>([0x7b, 0x22, 0x72, 0x65, 0x61, 0x64, 0x6f, 0x6e, 0x6c, 0x79, 0x22, 0x3a, 0, 0, 0, 0]); // {"readonly":
const WRITABLE_TEXT = memory.data<u8>([0x2c, 0x22, 0x77, 0x72, 0x69, 0x74, 0x61, 0x62, 0x6c, 0x65, 0x22, 0x3a, 0, 0, 0, 0]); // ,"writable":
const ACCOUNT_KEY_TEXT = memory.data<u8>([0x7b, 0x22, 0x61, 0x63, 0x63, 0x6f, 0x75, 0x6e, 0x74, 0x4b, 0x65, 0x79, 0x22, 0x3a, 0, 0]); // {"accountKey":
const READONLY_INDEXES_TEXT = memory.data<u8>([
  0x2c, 0x22, 0x72, 0x65, 0x61, 0x64, 0x6f, 0x6e, 0x6c, 0x79, 0x49, 0x6e, 0x64, 0x65, 0x78, 0x65, 0x73, 0x22, 0x3a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
]); // ,"readonlyIndexes":
const WRITABLE_INDEXES_TEXT = memory.data<u8>([
  0x2c, 0x22, 0x77, 0x72, 0x69, 0x74, 0x61, 0x62, 0x6c, 0x65, 0x49, 0x6e, 0x64, 0x65, 0x78, 0x65, 0x73, 0x22, 0x3a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
]); // ,"writableIndexes":
const HEX_DIGITS = memory.data<u8>([48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 102]);
const KIND_TEXTS = memory.data<u8>([
  0x22, 0x6c, 0x6f, 0x67, 0x22, 0, 0, 0, 0x22, 0x64, 0x61, 0x74, 0x61, 0x22, 0, 0, 0x22, 0x6f, 0x74, 0x68, 0x65, 0x72, 0x22, 0,
]); // "log" "data" "other"

/** p0, w0: static counts; p1, w1: writable counts; p2, p3: readonly counts and their width. */
function writeLoaded(step: usize, transaction: u32, out: usize): usize {
  const first = load<u32>(keyStarts + (transaction << 2)) + loadInt(load<u32>(step, STEP_P0), load<u32>(step, STEP_W0), transaction);
  const middle = first + loadInt(load<u32>(step, STEP_P1), load<u32>(step, STEP_W1), transaction);
  const end = middle + loadInt(load<u32>(step, STEP_P2), load<u32>(step, STEP_P3), transaction);
  if (out + 64 > limit) return 0;
  v128.store(out, v128.load(READONLY_TEXT));
  out = writeKeyRange(middle, end, out + 12);
  if (out == 0 || out + 64 > limit) return 0;
  v128.store(out, v128.load(WRITABLE_TEXT));
  out = writeKeyRange(first, middle, out + 12);
  if (out == 0) return 0;
  store<u8>(out++, 0x7d);
  return out;
}

/** p0: starts by transaction; p1: a block of 32 bytes: key · width · readonly counts · width · index starts · indexes · width · writable counts' width is the lookups' own. */
function writeLookups(step: usize, transaction: u32, out: usize): usize {
  const starts: usize = load<u32>(step, STEP_P0);
  const table: usize = load<u32>(step, STEP_P1);
  const end = load<u32>(starts + (transaction << 2), 4);
  const base = load<u32>(keyStarts + (transaction << 2));
  let first = true;
  if (out + 64 > limit) return 0;
  store<u8>(out++, 0x5b);
  for (let row = load<u32>(starts + (transaction << 2)); row < end; row++) {
    if (out + 192 > limit) return 0;
    if (!first) store<u8>(out++, 0x2c);
    first = false;
    v128.store(out, v128.load(ACCOUNT_KEY_TEXT));
    const position = loadInt(load<u32>(table), load<u32>(table, 4), row);
    out = writeKeyId(load<u32>(keys + ((base + position) << 2)), out + 14);
    const indexStart = load<u32>(load<u32>(table, 16) + (row << 2));
    const indexEnd = load<u32>(load<u32>(table, 16) + (row << 2), 4);
    const middle = indexStart + loadInt(load<u32>(table, 8), load<u32>(table, 12), row);
    v128.store(out, v128.load(READONLY_INDEXES_TEXT));
    v128.store(out, v128.load(READONLY_INDEXES_TEXT, 16), 16);
    out = writeIndexes(load<u32>(table, 20), load<u32>(table, 24), indexStart, middle, out + 19);
    if (out == 0 || out + 64 > limit) return 0;
    v128.store(out, v128.load(WRITABLE_INDEXES_TEXT));
    v128.store(out, v128.load(WRITABLE_INDEXES_TEXT, 16), 16);
    out = writeIndexes(load<u32>(table, 20), load<u32>(table, 24), middle, indexEnd, out + 19);
    if (out == 0) return 0;
    store<u8>(out++, 0x7d);
  }
  store<u8>(out++, 0x5d);
  return out;
}

/** p0: the signatures, 64 bytes each; p2: where each transaction's start. */
function writeSignatures(step: usize, transaction: u32, out: usize): usize {
  const starts: usize = load<u32>(step, STEP_P2);
  const end = load<u32>(starts + (transaction << 2), 4);
  const from = load<u32>(starts + (transaction << 2));
  if (out + (end - from) * 112 + 64 > limit) return 0;
  store<u8>(out++, 0x5b);
  for (let row = from; row < end; row++) {
    if (row > from) store<u8>(out++, 0x2c);
    store<u8>(out++, 0x22);
    out = base58Encode(load<u32>(step, STEP_P0) + (row << 6), 64, out);
    store<u8>(out++, 0x22);
  }
  store<u8>(out++, 0x5d);
  return out;
}

/** Base58 takes at most 11 characters for 8 bytes. p0: the bytes of all rows; p1: where each row's start. */
function writeData(step: usize, row: u32, out: usize): usize {
  const starts: usize = load<u32>(step, STEP_P1) + (row << 2);
  const start = load<u32>(starts);
  const length = load<u32>(starts, 4) - start;
  if (out + length + (length >> 1) + 64 > limit) return 0;
  store<u8>(out++, 0x22);
  out = writeDataText(load<u32>(step, STEP_P0) + start, length, out);
  store<u8>(out++, 0x22);
  return out;
}

function writeKeys(step: usize, transaction: u32, row: u32, out: usize): usize {
  const starts: usize = load<u32>(step, STEP_P1);
  const from = load<u32>(starts + (row << 2));
  const end = load<u32>(starts + (row << 2), 4);
  if (out + (end - from) * 48 + 64 > limit) return 0;
  const positions: usize = load<u32>(step, STEP_P0);
  const width = load<u32>(step, STEP_W0);
  const base: usize = keys + (load<u32>(keyStarts + (transaction << 2)) << 2);
  store<u8>(out++, 0x5b);
  for (let i = from; i < end; i++) {
    out = writeKeyId(load<u32>(base + (loadInt(positions, width, i) << 2)), out);
    store<u8>(out++, 0x2c);
  }
  if (end > from) out--;
  store<u8>(out++, 0x5d);
  return out;
}

/** The bytes between two starts. */
function writeRange(texts: usize, starts: usize, row: u32, out: usize): usize {
  const start = load<u32>(starts + (row << 2));
  const length = load<u32>(starts + (row << 2), 4) - start;
  if (out + length + 64 > limit) return 0;
  return copyText(texts + start, length, out);
}

/** p0: the bytes of all rows; p1: where each row's start; p2: how many bytes are written. */
function writeHex(step: usize, row: u32, out: usize): usize {
  const count = load<u32>(step, STEP_P2);
  const starts: usize = load<u32>(step, STEP_P1) + (row << 2);
  const start = load<u32>(starts);
  if (load<u32>(starts, 4) - start < count) return writeNull(out);
  const bytes: usize = load<u32>(step, STEP_P0) + start;
  store<u32>(out, 0x00783022);
  out += 3;
  // Eight bytes to sixteen digits at once; what is too much is overwritten.
  const value = v128.load64_zero(bytes);
  const low = v128.and(value, i8x16.splat(15));
  const high = v128.and(i16x8.shr_u(value, 4), i8x16.splat(15));
  const nibbles = i8x16.shuffle(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  v128.store(out, i8x16.swizzle(v128.load(HEX_DIGITS), nibbles));
  out += count << 1;
  store<u8>(out++, 0x22);
  return out;
}

// @ts-ignore: decorator
@inline
function writeQuantity(value: u64, quote: bool, out: usize): usize {
  if (!quote) return writeUlong(value, out);
  store<u8>(out, 0x22);
  out = writeUlong(value, out + 1);
  store<u8>(out, 0x22);
  return out + 1;
}

function writeSigned(value: i64, quote: bool, out: usize): usize {
  if (quote) store<u8>(out++, 0x22);
  let magnitude: u64 = <u64>value;
  if (value < 0) {
    store<u8>(out++, 0x2d);
    magnitude = 0 - magnitude;
  }
  out = writeUlong(magnitude, out);
  if (quote) store<u8>(out++, 0x22);
  return out;
}

function writeVersion(step: usize, row: u32, out: usize): usize {
  const version = loadInt(load<u32>(step, STEP_P0), load<u32>(step, STEP_W0), row);
  if (version > 0) return writeUint(version - 1, out);
  if (load<u32>(step, STEP_W1) == 1) {
    store<u64>(out, 0x79636167656c22); // "legacy
    store<u8>(out, 0x22, 7);
    return out + 8;
  }
  store<u16>(out, 0x312d);
  return out + 2;
}

function writeValue(step: usize, code: u32, transaction: u32, row: u32, out: usize): usize {
  const p0: usize = load<u32>(step, STEP_P0);
  const w0 = load<u32>(step, STEP_W0);
  switch (code) {
    case UINT:
      return writeUint(loadInt(p0, w0, row), out);
    case ULONG: {
      // p1: null flags, or 0; p2: the bit of this value; p3: the bytes between two rows' flags; w1: in quotes.
      const nulls: usize = load<u32>(step, STEP_P1);
      if (nulls != 0 && (load<u8>(nulls + row * load<u32>(step, STEP_P3)) & load<u32>(step, STEP_P2)) != 0) return writeNull(out);
      return writeQuantity(loadLong(p0, w0, row), load<u32>(step, STEP_W1) == 1, out);
    }
    case LONG:
      return writeSigned(<i64>load<u64>(p0 + (row << 3)), load<u32>(step, STEP_W1) == 1, out);
    // w1: the values from one row to the next.
    case KEY: {
      const base = load<u32>(keyStarts + (transaction << 2));
      return writeKeyId(load<u32>(keys + ((base + loadInt(p0, w0, row * load<u32>(step, STEP_W1))) << 2)), out);
    }
    case KEY_OR_NULL: {
      const position = loadInt(p0, w0, row * load<u32>(step, STEP_W1));
      if (position == 0) return writeNull(out);
      const base = load<u32>(keyStarts + (transaction << 2));
      return writeKeyId(load<u32>(keys + ((base + position - 1) << 2)), out);
    }
    case KEYS:
      return writeKeys(step, transaction, row, out);
    case STATIC_KEYS: {
      const first = load<u32>(keyStarts + (transaction << 2));
      return writeKeyRange(first, first + loadInt(p0, w0, transaction), out);
    }
    case TEXT: {
      store<u8>(out, 0x22);
      const end = writeRange(p0, load<u32>(step, STEP_P1), row, out + 1);
      if (end == 0) return 0;
      store<u8>(end, 0x22);
      return end + 1;
    }
    case CODED_TEXT:
      return writeRange(load<u32>(step, STEP_P2), load<u32>(step, STEP_P1), loadInt(p0, w0, row), out);
    case DATA:
      return writeData(step, row, out);
    case HEX:
      return writeHex(step, row, out);
    case RAW_TEXT:
      return writeRange(p0, load<u32>(step, STEP_P1), row, out);
    case FLAG:
      return writeBoolean((loadInt(p0, w0, row) & load<u32>(step, STEP_P2)) != 0, out);
    case COMMITTED: {
      const committed = loadInt(p0, w0, row) & 3;
      return committed == 2 ? writeNull(out) : writeBoolean(committed == 1, out);
    }
    case VERSION:
      return writeVersion(step, row, out);
    case SIGNATURES:
      return writeSignatures(step, transaction, out);
    case LOOKUPS:
      return writeLookups(step, transaction, out);
    case LOADED:
      return writeLoaded(step, transaction, out);
    case PAYER: {
      if (loadInt(p0, w0, transaction) == 0) return writeNull(out);
      return writeKeyId(load<u32>(keys + (load<u32>(keyStarts + (transaction << 2)) << 2)), out);
    }
    case LOG_KIND: {
      const kind = loadInt(p0, w0, row);
      store<u64>(out, load<u64>(KIND_TEXTS + (kind << 3)));
      return out + 5 + kind;
    }
    case UINT_OR_NULL: {
      const value = loadInt(p0, w0, row * load<u32>(step, STEP_W1));
      return value == 0 ? writeNull(out) : writeUint(value - 1, out);
    }
    case KEY_ID:
      return writeKeyId(loadInt(p0, w0, row), out);
    case TRANSACTION_UINT:
      return writeUint(loadInt(p0, w0, transaction), out);
    case INSTRUCTION_TEXT: {
      // The address of the instruction that row points to: p2 is where each transaction's instructions start, p3 the texts.
      const instruction = load<u32>(load<u32>(step, STEP_P2) + (transaction << 2)) + loadInt(p0, w0, row);
      return writeRange(load<u32>(step, STEP_P3), load<u32>(step, STEP_P1), instruction, out);
    }
  }
  return out;
}

/** One record; 0 if it does not fit before the limit, or a key of it is missing. */
function writeRecord(steps: usize, stepCount: u32, transaction: u32, row: u32, out: usize): usize {
  if (out + stepCount * STEP_OUTPUT_MAX + 64 > limit) return 0;
  store<u8>(out++, 0x7b);
  const end = steps + stepCount * STEP_BYTES;
  for (let step = steps; step < end; step += STEP_BYTES) {
    // Texts of variable length check for room themselves, and leave enough for the fixed ones only at the start.
    if (out + STEP_OUTPUT_MAX > limit) return 0;
    v128.store(out, v128.load(step, STEP_LABEL));
    v128.store(out, v128.load(step, 48), 16);
    out = writeValue(step, load<u32>(step, STEP_CODE), transaction, row, out + load<u32>(step, STEP_TEXT_LENGTH));
    if (out == 0) return 0;
  }
  if (isKeyMissing) return 0;
  store<u8>(out++, 0x7d);
  return out;
}

let complete: bool = false;

const LINE_START = memory.data<u8>([0x7b, 0x22, 0x68, 0x65, 0x61, 0x64, 0x65, 0x72, 0x22, 0x3a, 0, 0, 0, 0, 0, 0]); // {"header":
const LINE_START_BYTES: u32 = 10;

/**
 * Writes lines, one a block, from the state's block up to `blockEnd`. Answers where the text ends: at the end of the blocks,
 * after the first line that reaches the goal, where the buffer is full, or before a record with a key that has no room.
 */
export function writeLines(
  state: usize,
  kinds: usize,
  lines: usize,
  blockEnd: u32,
  out: usize,
  goal: usize,
  outLimit: usize,
): usize {
  loadState(state);
  // Room for the end of a line is always kept.
  limit = outLimit - 16;
  for (; stoppedBlock < blockEnd && out < goal; stoppedBlock++) {
    const block: usize = load<u32>(lines, LINES_BLOCKS) + ((stoppedBlock - load<u32>(lines, LINES_FIRST_BLOCK)) << 4);
    if (isInLine == 0) {
      if (!hasLine(kinds, lines, block)) continue;
      const started = beginLine(lines, block, out);
      if (started == 0) break;
      out = started;
    }
    if (load<u32>(lines, LINES_MARKS) != 0) {
      out = writeArrays(kinds, load<u32>(lines, LINES_MARKS), block, out);
      if (!complete) break;
    }
    store<u16>(out, 0x0a7d);
    out += 2;
    isInLine = 0;
  }
  saveState(state);
  return out;
}

// @ts-ignore: decorator
@inline
function hasLine(kinds: usize, lines: usize, block: usize): bool {
  if (load<u32>(lines, LINES_IS_ALL) != 0 || stoppedBlock == load<u32>(lines, LINES_ALWAYS)) return true;
  const marks: usize = load<u32>(lines, LINES_MARKS);
  if (marks == 0) return false;
  if (anySet(marks, load<u32>(block), load<u32>(block, 4))) return true;
  const rewards: usize = load<u32>(kinds + 5 * KIND_BYTES, KIND_FLAGS);
  return rewards != 0 && anySet(rewards, load<u32>(block, 8), load<u32>(block, 12));
}

function beginLine(lines: usize, block: usize, out: usize): usize {
  const starts: usize = load<u32>(lines, LINES_HEADER_STARTS) + (stoppedBlock << 2);
  const from = load<u32>(starts);
  const length = load<u32>(starts, 4) - from;
  if (out + LINE_START_BYTES + length + 64 > limit) return 0;
  v128.store(out, v128.load(LINE_START));
  isInLine = 1;
  lastLine = stoppedBlock;
  lineCount++;
  stoppedKind = 0;
  stoppedTransaction = load<u32>(block);
  stoppedRow = 0;
  stoppedInArray = 0;
  return copyText(load<u32>(lines, LINES_HEADERS) + from, length, out + LINE_START_BYTES);
}

/** Whether any byte from first to end is set. */
function anySet(flags: usize, first: u32, end: u32): bool {
  let at = flags + first;
  const last = flags + end;
  for (; at + 16 <= last; at += 16) if (v128.any_true(v128.load(at))) return true;
  for (; at < last; at++) if (load<u8>(at) != 0) return true;
  return false;
}

/** The arrays of one block: for each kind the flagged rows of its transactions, then the rewards. */
function writeArrays(kinds: usize, marks: usize, block: usize, out: usize): usize {
  complete = true;
  for (; stoppedKind < 6; stoppedKind++) {
    const kind = kinds + stoppedKind * KIND_BYTES;
    if (load<u32>(kind, KIND_FLAGS) != 0) {
      if (stoppedKind == 5) out = writeRewards(kind, load<u32>(block, 8), load<u32>(block, 12), out);
      else out = writeTransactionRows(kind, marks, load<u32>(block, 4), out);
      if (!complete) return out;
      if (stoppedInArray == 1) store<u8>(out - 1, 0x5d);
    }
    stoppedTransaction = load<u32>(block);
    stoppedRow = 0;
    stoppedInArray = 0;
  }
  return out;
}

/** Opens the array before its first record; a record is followed by a comma that the end turns into a bracket. */
// @ts-ignore: decorator
@inline
function openArray(kind: usize, out: usize): usize {
  if (stoppedInArray == 1) return out;
  stoppedInArray = 1;
  return copyText(load<u32>(kind, KIND_LABEL), load<u32>(kind, KIND_LABEL_LENGTH), out);
}

/** Rows of a block that are touched ahead; a block with more has its rows side by side. 8 bytes each: transaction, row. */
const TOUCHED_MAX: u32 = 256;
const touchedRows = memory.data(2048, 16);
/** Kept, so that the loads are. */
let touched: u32 = 0;

/**
 * What a selected record names lies anywhere: a position leads to a key, that to its room, that to the text. Writing one after the
 * other would wait for memory each time. So what a block writes is touched before, field by field, in loops so short that the
 * processor waits for many rows at once.
 */
function touchRows(kind: usize, marks: usize, transactionEnd: u32): void {
  const flags: usize = load<u32>(kind, KIND_FLAGS);
  const starts: usize = load<u32>(kind, KIND_STARTS);
  const bit = load<u32>(kind, KIND_MARK);
  if (starts == 0) return;
  const limitAt = touchedRows + (TOUCHED_MAX << 3);
  let at: usize = touchedRows;
  for (let transaction = stoppedTransaction; transaction < transactionEnd; transaction++) {
    if ((load<u8>(marks + transaction) & bit) == 0) continue;
    const end = load<u32>(starts + (transaction << 2), 4);
    for (let row = load<u32>(starts + (transaction << 2)); row < end; row++) {
      if (load<u8>(flags + row) == 0) continue;
      if (at == limitAt) return;
      store<u32>(at, transaction);
      store<u32>(at, row, 4);
      at += 8;
    }
  }
  const steps: usize = load<u32>(kind, KIND_STEPS);
  const stepEnd = steps + load<u32>(kind, KIND_STEP_COUNT) * STEP_BYTES;
  for (let step = steps; step < stepEnd; step += STEP_BYTES) touchStep(step, at);
}

function touchStep(step: usize, rowsEnd: usize): void {
  const code = load<u32>(step, STEP_CODE);
  const p0: usize = load<u32>(step, STEP_P0);
  const w0 = load<u32>(step, STEP_W0);
  let sum: u32 = 0;
  if (code == ULONG) {
    for (let at: usize = touchedRows; at < rowsEnd; at += 8) sum += <u32>loadLong(p0, w0, load<u32>(at, 4));
  } else if (code == KEY || code == KEY_OR_NULL) {
    const stride = load<u32>(step, STEP_W1);
    const first: u32 = code == KEY ? 0 : 1;
    for (let at: usize = touchedRows; at < rowsEnd; at += 8) {
      const value = loadInt(p0, w0, load<u32>(at, 4) * stride);
      if (value < first) continue;
      const place = load<u32>(keyStarts + (load<u32>(at) << 2)) + value - first;
      const room: usize = load<u32>(rooms + (load<u32>(keys + (place << 2)) << 2));
      sum += load<u8>(room) + load<u8>(room, 47);
    }
  }
  touched = sum;
}

function writeTransactionRows(kind: usize, marks: usize, transactionEnd: u32, out: usize): usize {
  const steps: usize = load<u32>(kind, KIND_STEPS);
  const stepCount = load<u32>(kind, KIND_STEP_COUNT);
  const flags: usize = load<u32>(kind, KIND_FLAGS);
  const starts: usize = load<u32>(kind, KIND_STARTS);
  const bit = load<u32>(kind, KIND_MARK);
  complete = false;
  touchRows(kind, marks, transactionEnd);
  for (; stoppedTransaction < transactionEnd; stoppedTransaction++) {
    if ((load<u8>(marks + stoppedTransaction) & bit) == 0) continue;
    const isOwn = starts == 0;
    const first = isOwn ? stoppedTransaction : load<u32>(starts + (stoppedTransaction << 2));
    const end = isOwn ? first + 1 : load<u32>(starts + (stoppedTransaction << 2), 4);
    for (let row = first + stoppedRow; row < end; row++) {
      if (load<u8>(flags + row) == 0) continue;
      if (out + 64 > limit) {
        stoppedRow = row - first;
        return out;
      }
      const opened = openArray(kind, out);
      const after = writeRecord(steps, stepCount, stoppedTransaction, row, opened);
      if (after == 0) {
        stoppedRow = row - first;
        return opened;
      }
      store<u8>(after, 0x2c);
      out = after + 1;
    }
    stoppedRow = 0;
  }
  complete = true;
  return out;
}

function writeRewards(kind: usize, rewardFirst: u32, rewardEnd: u32, out: usize): usize {
  const flags: usize = load<u32>(kind, KIND_FLAGS);
  complete = false;
  for (let row = rewardFirst + stoppedRow; row < rewardEnd; row++) {
    if (load<u8>(flags + row) == 0) continue;
    if (out + 64 > limit) {
      stoppedRow = row - rewardFirst;
      return out;
    }
    const opened = openArray(kind, out);
    const after = writeRecord(load<u32>(kind, KIND_STEPS), load<u32>(kind, KIND_STEP_COUNT), 0, row, opened);
    if (after == 0) {
      stoppedRow = row - rewardFirst;
      return opened;
    }
    store<u8>(after, 0x2c);
    out = after + 1;
  }
  complete = true;
  return out;
}
