// Reads the values of instructions with a simple layout into columns. Rows of other data are left to the host.
import {
  DECODING_ACCOUNT_STARTS, DECODING_DATA, DECODING_DATA_STARTS, DECODING_INS_PROGRAM, DECODING_KEYS, DECODING_KEY_STARTS, OP_I16, OP_I8, OP_I64,
  OP_U16, OP_U64, OP_U8, SIMPLE_ACCOUNT_BYTES, SIMPLE_ACCOUNT_COUNT, SIMPLE_BYTES, SIMPLE_BYTES_MIN, SIMPLE_PROGRAM, SIMPLE_TAG, SIMPLE_TAG_LENGTH,
  SIMPLE_VALUE_BYTES, SIMPLE_VALUE_COUNT,
} from '../../../layout/decoding';
import { valueAt } from './find-events';

/** Reads listed rows, and sets the byte of each row that was read. */
export function readTypedRows(table: usize, layout: usize, rows: usize, transactions: usize, count: u32, isRead: usize): void {
  const program = load<u32>(layout, SIMPLE_PROGRAM);
  const bytesMin = load<u32>(layout, SIMPLE_BYTES_MIN);
  const tag = <usize>load<u32>(layout, SIMPLE_TAG);
  const tagLength = <usize>load<u32>(layout, SIMPLE_TAG_LENGTH);
  const data = <usize>load<u32>(table, DECODING_DATA);
  for (let i: u32 = 0; i < count; i++) {
    const row = load<u32>(rows + (i << 2));
    const firstKey = valueAt(table, DECODING_KEY_STARTS, load<u32>(transactions + (i << 2)));
    if (valueAt(table, DECODING_KEYS, firstKey + valueAt(table, DECODING_INS_PROGRAM, row)) != program) continue;
    const start = valueAt(table, DECODING_DATA_STARTS, row);
    if (valueAt(table, DECODING_DATA_STARTS, row + 1) - start < bytesMin) continue;
    if (memory.compare(data + start, tag, tagLength) != 0) continue;
    const accounts = readValues(layout, data + start, i);
    const passedCount = valueAt(table, DECODING_ACCOUNT_STARTS, row + 1) - valueAt(table, DECODING_ACCOUNT_STARTS, row);
    numberAccounts(layout, accounts, passedCount, i);
    store<u8>(isRead + i, 1);
  }
}

/** Returns the address of the accounts of the layout, which follow its values. */
function readValues(layout: usize, data: usize, i: u32): usize {
  let value = layout + SIMPLE_BYTES;
  const valueEnd = value + load<u32>(layout, SIMPLE_VALUE_COUNT) * SIMPLE_VALUE_BYTES;
  for (; value < valueEnd; value += SIMPLE_VALUE_BYTES) {
    readInteger(data + load<u32>(value), load<u32>(value, 4), <usize>load<u32>(value, 8), i);
  }
  return valueEnd;
}

/** Reads an integer into row `i` of a column. */
// @ts-ignore: decorator
@inline
export function readInteger(from: usize, op: u32, column: usize, i: u32): void {
  if (op == OP_U64 || op == OP_I64) return store<u64>(column + (i << 3), load<u64>(from));
  const out = column + (i << 2);
  if (op == OP_U8) store<u32>(out, load<u8>(from));
  else if (op == OP_I8) store<i32>(out, load<i8>(from));
  else if (op == OP_U16) store<u32>(out, load<u16>(from));
  else if (op == OP_I16) store<i32>(out, load<i16>(from));
  else store<u32>(out, load<u32>(from));
}

function numberAccounts(layout: usize, account: usize, passedCount: u32, i: u32): void {
  const accountEnd = account + load<u32>(layout, SIMPLE_ACCOUNT_COUNT) * SIMPLE_ACCOUNT_BYTES;
  for (; account < accountEnd; account += SIMPLE_ACCOUNT_BYTES) {
    const number = load<i32>(account);
    store<i32>(<usize>load<u32>(account, 4) + (i << 2), number < <i32>passedCount ? number : -1);
  }
}
