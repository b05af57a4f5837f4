// Writes rows in the binary form of COPY of PostgreSQL from the buffers of Arrow columns. A row is the number of its fields, and for each field
// its length and its bytes, or the length -1 for null. Integers are big-endian.
// https://www.postgresql.org/docs/current/sql-copy.html
//
//   static data │ input: columns, buffers │ output
import {
  COPY_BIGINT,
  COPY_BOOLEAN,
  COPY_COLUMN_BYTES,
  COPY_DICTIONARY,
  COPY_FIELDS,
  COPY_INTEGER,
  COPY_LONG,
  COPY_SIGNED,
  COPY_SLACK_BYTES,
  COPY_TIME,
} from '../layout/copy-rows';
import { FREE_MEMORY_START } from '../layout/memory';
import { copyShort } from './common/copy';

const KIND_MASK: u32 = COPY_LONG - 1;
const NULL_LENGTH: u32 = 0xffffffff;
/** The longest field of a constant form is a numeric: its length, four numbers of 2 bytes, and five digits. */
const FIXED_BYTES_MAX: u32 = 22;
const SECONDS_OF_2000: i64 = 946684800;
/** The range of a date of JavaScript, which is within that of PostgreSQL. */
const SECONDS_MAX: i64 = 8640000000000;
const MICROSECONDS: i64 = 1000000;
const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_BASE: u64 = 10000;
const NUMERIC_HEADER_BYTES: u32 = 8;

let rowsEnd: usize = 0;

export function inputAddress(): usize {
  return FREE_MEMORY_START;
}

/** Returns where the rows that were written last end. */
export function endAddress(): usize {
  return rowsEnd;
}

/** Writes rows from `first` on until `limit` would be passed. Returns the row after the last one that was written. */
export function writeRows(
  columns: usize,
  columnCount: u32,
  first: u32,
  end: u32,
  output: usize,
  limit: usize,
): u32 {
  rowsEnd = output;
  for (let row = first; row < end; row++) {
    const next = writeRow(columns, columnCount, row, rowsEnd, limit);
    if (next == 0) return row;
    rowsEnd = next;
  }
  return end;
}

/** Returns where the row ends, or 0 if it does not fit. */
function writeRow(columns: usize, columnCount: u32, row: u32, output: usize, limit: usize): usize {
  store<u16>(output, bswap<u16>(<u16>columnCount));
  let out = output + 2;
  const end = columns + columnCount * COPY_COLUMN_BYTES;
  for (let column = columns; column < end; column += COPY_COLUMN_BYTES) {
    if (out + FIXED_BYTES_MAX > limit) return 0;
    const kind = load<u32>(column) & KIND_MASK;
    if (isNull(load<u32>(column, 4), row)) {
      store<u32>(out, NULL_LENGTH);
      out += 4;
    } else if (kind <= <u32>COPY_DICTIONARY) {
      out = writeBytes(column, kind, row, out, limit);
      if (out == 0) return 0;
    } else {
      out = writeFixed(column, kind, row, out);
    }
  }
  return out;
}

// @ts-ignore: decorator
@inline
function isNull(bits: usize, row: u32): bool {
  return bits != 0 && ((load<u8>(bits + (row >> 3)) >> (<u8>row & 7)) & 1) == 0;
}

// @ts-ignore: decorator
@inline
function writeBytes(column: usize, kind: u32, row: u32, output: usize, limit: usize): usize {
  const i = kind == COPY_DICTIONARY ? load<u32>(load<u32>(column, 8) + (row << 2)) : row;
  const starts: usize = load<u32>(column, 12) + (i << 2);
  const start = load<u32>(starts);
  const length = load<u32>(starts, 4) - start;
  if (output + 4 + length > limit) return 0;
  let out = output;
  if (kind != COPY_FIELDS) {
    store<u32>(out, bswap<u32>(length));
    out += 4;
  }
  copyShort(out, load<u32>(column, 16) + start, length);
  return out + length;
}

function writeFixed(column: usize, kind: u32, row: u32, out: usize): usize {
  const values: usize = load<u32>(column, 8);
  if (kind == COPY_BOOLEAN) {
    store<u32>(out, bswap<u32>(1));
    store<u8>(out, (load<u8>(values + (row >> 3)) >> (<u8>row & 7)) & 1, 4);
    return out + 5;
  }
  if (kind == COPY_INTEGER) {
    store<u32>(out, bswap<u32>(4));
    store<u32>(out, bswap<u32>(load<u32>(values + (row << 2))), 4);
    return out + 8;
  }
  const flags = load<u32>(column);
  const isSigned = (flags & COPY_SIGNED) != 0;
  const value = readInteger(values, row, (flags & COPY_LONG) != 0, isSigned);
  if (kind == COPY_BIGINT) return writeLong(value, out);
  if (kind == COPY_TIME) return writeTime(value, out);
  return writeNumeric(value, isSigned && value < 0, out);
}

// @ts-ignore: decorator
@inline
function readInteger(values: usize, row: u32, isLong: bool, isSigned: bool): i64 {
  if (isLong) return load<i64>(values + (row << 3));
  const at = values + (row << 2);
  return isSigned ? <i64>load<i32>(at) : <i64>load<u32>(at);
}

// @ts-ignore: decorator
@inline
function writeLong(value: i64, out: usize): usize {
  store<u32>(out, bswap<u32>(8));
  store<i64>(out, bswap<i64>(value), 4);
  return out + 12;
}

// @ts-ignore: decorator
@inline
function writeTime(seconds: i64, out: usize): usize {
  if (seconds > SECONDS_MAX || seconds < -SECONDS_MAX) {
    store<u32>(out, NULL_LENGTH);
    return out + 4;
  }
  return writeLong((seconds - SECONDS_OF_2000) * MICROSECONDS, out);
}

/** Writes a numeric: the number of its digits of base 10,000, the weight of the first one, the sign, the decimal places, and the digits. */
function writeNumeric(value: i64, isNegative: bool, out: usize): usize {
  let rest: u64 = isNegative ? <u64>(0 - value) : <u64>value;
  let count: u32 = 0;
  for (let left = rest; left > 0; left /= NUMERIC_BASE) count++;
  const length = NUMERIC_HEADER_BYTES + (count << 1);
  store<u32>(out, bswap<u32>(length));
  store<u16>(out, bswap<u16>(<u16>count), 4);
  store<u16>(out, count == 0 ? 0 : bswap<u16>(<u16>(count - 1)), 6);
  store<u16>(out, isNegative ? bswap<u16>(NUMERIC_NEGATIVE) : 0, 8);
  store<u16>(out, 0, 10);
  for (let i = count; i > 0; i--) {
    const higher = rest / NUMERIC_BASE;
    store<u16>(out + 10 + (i << 1), bswap<u16>(<u16>(rest - higher * NUMERIC_BASE)));
    rest = higher;
  }
  return out + 4 + length;
}
