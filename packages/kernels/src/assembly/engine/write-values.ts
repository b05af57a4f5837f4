// Writes the fields of a selected row as JSON. A kind of record is written by a short program: one step for each field, with the text
// before its value (`,"programId":`) and the columns that the value comes from. The host fills in the addresses of the columns for every
// batch of row groups; the kernel knows no field by name. `layout/writing.ts` defines the layout of a step.
import {
  STEP_UINT as UINT, STEP_ULONG as ULONG, STEP_LONG as LONG, STEP_KEY as KEY, STEP_KEY_OR_NULL as KEY_OR_NULL,
  STEP_KEYS as KEYS, STEP_STATIC_KEYS as STATIC_KEYS, STEP_TEXT as TEXT, STEP_CODED_TEXT as CODED_TEXT,
  STEP_HEX as HEX, STEP_RAW_TEXT as RAW_TEXT, STEP_FLAG as FLAG, STEP_COMMITTED as COMMITTED,
  STEP_VERSION as VERSION, STEP_SIGNATURES as SIGNATURES, STEP_LOOKUPS as LOOKUPS, STEP_LOADED as LOADED,
  STEP_PAYER as PAYER, STEP_LOG_KIND as LOG_KIND, STEP_UINT_OR_NULL as UINT_OR_NULL, STEP_KEY_ID as KEY_ID,
  STEP_TRANSACTION_UINT as TRANSACTION_UINT, STEP_INSTRUCTION_TEXT as INSTRUCTION_TEXT, STEP_DATA as DATA,
  STEP_DECODED as DECODED,
  STEP_BYTES, STEP_CODE, STEP_LABEL, STEP_P0, STEP_P1, STEP_P2, STEP_P3, STEP_TEXT_LENGTH, STEP_W0, STEP_W1,
  KEY_TEXT_BYTES, LOOKUPS_INDEXES, LOOKUPS_INDEX_STARTS, LOOKUPS_INDEX_WIDTH, LOOKUPS_KEYS, LOOKUPS_KEY_WIDTH,
  LOOKUPS_READONLY_COUNTS, LOOKUPS_READONLY_WIDTH,
} from '../../layout/writing';
import { base58Encode } from '../common/base58';
import { writeUint, writeUlong } from '../../../../base/src/assembly/integers';
import { loadInt, loadLong } from './columns';
import { writeDataText } from './data-texts';
import { writeEightBytes } from './decode/hex-digits';
import { writeDecoded } from './decode/write-decoded';
import { keyStarts, keys, limit } from './write-context';
import { copyText, hasMissingText, writeKeyId } from './write-texts';

/** The maximum length of a value of fixed size with the text before it. */
const STEP_OUTPUT_MAX: u32 = 128;

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
  if (out + (end - from) * KEY_TEXT_BYTES + 64 > limit) return 0;
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

/** p0: starts by transaction; p1: a table (`LOOKUPS_KEYS` and others). */
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
    const position = loadInt(load<u32>(table, LOOKUPS_KEYS), load<u32>(table, LOOKUPS_KEY_WIDTH), row);
    out = writeKeyId(load<u32>(keys + ((base + position) << 2)), out + 14);
    const indexStart = load<u32>(load<u32>(table, LOOKUPS_INDEX_STARTS) + (row << 2));
    const indexEnd = load<u32>(load<u32>(table, LOOKUPS_INDEX_STARTS) + (row << 2), 4);
    const middle = indexStart + loadInt(load<u32>(table, LOOKUPS_READONLY_COUNTS), load<u32>(table, LOOKUPS_READONLY_WIDTH), row);
    v128.store(out, v128.load(READONLY_INDEXES_TEXT));
    v128.store(out, v128.load(READONLY_INDEXES_TEXT, 16), 16);
    out = writeIndexes(load<u32>(table, LOOKUPS_INDEXES), load<u32>(table, LOOKUPS_INDEX_WIDTH), indexStart, middle, out + 19);
    if (out == 0 || out + 64 > limit) return 0;
    v128.store(out, v128.load(WRITABLE_INDEXES_TEXT));
    v128.store(out, v128.load(WRITABLE_INDEXES_TEXT, 16), 16);
    out = writeIndexes(load<u32>(table, LOOKUPS_INDEXES), load<u32>(table, LOOKUPS_INDEX_WIDTH), middle, indexEnd, out + 19);
    if (out == 0) return 0;
    store<u8>(out++, 0x7d);
  }
  store<u8>(out++, 0x5d);
  return out;
}

/** p0: the signatures, 64 bytes each; p2: where those of each transaction start. */
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

/** Base58 takes at most 11 characters for 8 bytes. p0: the bytes of all rows; p1: where those of each row start. */
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
  if (out + (end - from) * KEY_TEXT_BYTES + 64 > limit) return 0;
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

/** Writes the bytes between two starts. */
function writeRange(texts: usize, starts: usize, row: u32, out: usize): usize {
  const start = load<u32>(starts + (row << 2));
  const length = load<u32>(starts + (row << 2), 4) - start;
  if (out + length + 64 > limit) return 0;
  return copyText(texts + start, length, out);
}

/** p0: the bytes of all rows; p1: where those of each row start; p2: how many bytes are written. */
function writeHex(step: usize, row: u32, out: usize): usize {
  const count = load<u32>(step, STEP_P2);
  const starts: usize = load<u32>(step, STEP_P1) + (row << 2);
  const start = load<u32>(starts);
  if (load<u32>(starts, 4) - start < count) return writeNull(out);
  const bytes: usize = load<u32>(step, STEP_P0) + start;
  store<u32>(out, 0x00783022);
  out += 3;
  // Digits beyond the length are overwritten.
  writeEightBytes(bytes, out);
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
      // p1: null flags, or 0; p2: the bit of this value; p3: the bytes between two rows' flags; w1: whether the value is in quotes.
      const nulls: usize = load<u32>(step, STEP_P1);
      if (nulls != 0 && (load<u8>(nulls + row * load<u32>(step, STEP_P3)) & load<u32>(step, STEP_P2)) != 0) return writeNull(out);
      return writeQuantity(loadLong(p0, w0, row), load<u32>(step, STEP_W1) == 1, out);
    }
    case LONG:
      return writeSigned(<i64>load<u64>(p0 + (row << 3)), load<u32>(step, STEP_W1) == 1, out);
    // w1: the number of values from one row to the next.
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
    case DECODED:
      return writeDecoded(p0, w0, transaction, row, out);
    case TRANSACTION_UINT:
      return writeUint(loadInt(p0, w0, transaction), out);
    case INSTRUCTION_TEXT: {
      // Writes the address of the row's instruction. p2: where the instructions of each transaction start; p3: the texts.
      const instruction = load<u32>(load<u32>(step, STEP_P2) + (transaction << 2)) + loadInt(p0, w0, row);
      return writeRange(load<u32>(step, STEP_P3), load<u32>(step, STEP_P1), instruction, out);
    }
  }
  return out;
}

/** Writes one record. Returns the end of the text, or 0 if the record does not fit before the limit or the text of a key is missing. */
export function writeRecord(steps: usize, stepCount: u32, transaction: u32, row: u32, out: usize): usize {
  if (out + stepCount * STEP_OUTPUT_MAX + 64 > limit) return 0;
  store<u8>(out++, 0x7b);
  const end = steps + stepCount * STEP_BYTES;
  for (let step = steps; step < end; step += STEP_BYTES) {
    // The check above reserves space for values of fixed size. Values of variable length may have used it, so it is checked again.
    if (out + STEP_OUTPUT_MAX > limit) return 0;
    v128.store(out, v128.load(step, STEP_LABEL));
    v128.store(out, v128.load(step, 48), 16);
    out = writeValue(step, load<u32>(step, STEP_CODE), transaction, row, out + load<u32>(step, STEP_TEXT_LENGTH));
    if (out == 0) return 0;
  }
  if (hasMissingText()) return 0;
  store<u8>(out++, 0x7d);
  return out;
}
