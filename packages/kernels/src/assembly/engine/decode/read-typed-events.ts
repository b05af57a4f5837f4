// Reads the values of simple events into columns: finds the events of each instruction, and its accounts. If anything about them is unusual, such
// as an instruction that is not simple, the host reads the events of all rows instead.
import {
  CALLER_BYTES, CALLER_BYTES_MIN, CALLER_TAG, CALLER_TAG_LENGTH, DECODING_ACCOUNT_STARTS, DECODING_INS_PROGRAM, DECODING_INS_STARTS, DECODING_KEYS,
  DECODING_KEY_STARTS, DECODING_LOG_STARTS, EVENTS_OF_HOST, EVENT_BYTES, EVENT_CALLER_COUNT, EVENT_INDEXES, EVENT_POSITIONS, EVENT_VALUE_BYTES,
  OP_BOOLEAN, OP_KEY, SIMPLE_ACCOUNT_COUNT, SIMPLE_BYTES_MIN, SIMPLE_PROGRAM, SIMPLE_TAG, SIMPLE_TAG_LENGTH, SIMPLE_VALUE_COUNT,
} from '../../../layout/decoding';
import { EVENT_CALL_TAG_BYTES, dataOf, decodeLog, isDataOf, isEventCall, message, nextEventCall, valueAt } from './find-events';
import { writeKeyBytes } from './key-cache';
import { readInteger } from './read-typed';

/** The number of events that were read. */
let found: u32 = 0;
/** The number of events of the instruction so far, also of those with another name. */
let index: u32 = 0;

/** Reads the events of listed rows. Returns their number, or EVENTS_OF_HOST. */
export function readTypedEvents(table: usize, layout: usize, rows: usize, transactions: usize, count: u32): i32 {
  const program = load<u32>(layout, SIMPLE_PROGRAM);
  found = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = load<u32>(rows + (i << 2));
    const transaction = load<u32>(transactions + (i << 2));
    const firstKey = valueAt(table, DECODING_KEY_STARTS, transaction);
    if (valueAt(table, DECODING_KEYS, firstKey + valueAt(table, DECODING_INS_PROGRAM, row)) != program) continue;
    const from = dataOf(table, row);
    const to = dataOf(table, row + 1);
    if (isEventCall(from, to)) continue;
    const before = found;
    if (!readEvents(table, layout, transaction, row, i)) return EVENTS_OF_HOST;
    if (found == before) continue;
    const caller = findCaller(layout, from, to);
    if (caller == 0) return EVENTS_OF_HOST;
    const passedCount = valueAt(table, DECODING_ACCOUNT_STARTS, row + 1) - valueAt(table, DECODING_ACCOUNT_STARTS, row);
    for (let event = before; event < found; event++) numberAccounts(layout, caller, passedCount, event);
  }
  return found;
}

/** Reads the events in the log lines of an instruction, then those that the program recorded by calling itself. Returns false if the host reads them. */
function readEvents(table: usize, layout: usize, transaction: u32, row: u32, i: u32): bool {
  index = 0;
  const callEnd = valueAt(table, DECODING_INS_STARTS, transaction + 1);
  const position = row - valueAt(table, DECODING_INS_STARTS, transaction);
  const logEnd = valueAt(table, DECODING_LOG_STARTS, transaction + 1);
  for (let log = valueAt(table, DECODING_LOG_STARTS, transaction); log < logEnd; log++) {
    if (!isDataOf(table, log, position)) continue;
    const end = decodeLog(table, log);
    if (end == 0 || !readEvent(layout, message, end, i)) return false;
  }
  for (let call = nextEventCall(table, transaction, row, row); call < callEnd; call = nextEventCall(table, transaction, row, call)) {
    if (!readEvent(layout, dataOf(table, call) + EVENT_CALL_TAG_BYTES, dataOf(table, call + 1), i)) return false;
  }
  return true;
}

/** Reads an event, unless it has another name. Returns false if the host reads it. */
function readEvent(layout: usize, from: usize, to: usize, i: u32): bool {
  const tagLength = load<u32>(layout, SIMPLE_TAG_LENGTH);
  const isOther = <u32>(to - from) < tagLength || memory.compare(from, <usize>load<u32>(layout, SIMPLE_TAG), tagLength) != 0;
  if (!isOther) {
    if (<u32>(to - from) < load<u32>(layout, SIMPLE_BYTES_MIN) || !readValues(layout, from)) return false;
    store<u32>(<usize>load<u32>(layout, EVENT_POSITIONS) + (found << 2), i);
    store<u32>(<usize>load<u32>(layout, EVENT_INDEXES) + (found << 2), index);
    found++;
  }
  index++;
  return true;
}

function readValues(layout: usize, data: usize): bool {
  let value = layout + EVENT_BYTES;
  const valueEnd = value + load<u32>(layout, SIMPLE_VALUE_COUNT) * EVENT_VALUE_BYTES;
  for (; value < valueEnd; value += EVENT_VALUE_BYTES) {
    const from = data + load<u32>(value);
    const op = load<u32>(value, 4);
    const column = <usize>load<u32>(value, 8);
    if (op == OP_KEY) writeKey(from, column + (found << 2), <usize>load<u32>(value, 12));
    else if (op != OP_BOOLEAN) readInteger(from, op, column, found);
    else if (load<u8>(from) > 1) return false;
    else store<u32>(column + (found << 2), load<u8>(from));
  }
  return true;
}

/** Writes the text of an address behind the texts of earlier rows. `starts` has where it starts, and then where it ends. */
function writeKey(key: usize, starts: usize, texts: usize): void {
  const out = texts + load<u32>(starts);
  // The quotes of the text are not wanted: the first one overwrites the last character before it, and the next text the last one.
  const before = load<u8>(out - 1);
  const end = writeKeyBytes(key, out - 1) - 1;
  store<u8>(out - 1, before);
  store<u32>(starts, <u32>(end - texts), 4);
}

/** Returns the entry of the instruction, or 0 if it is not known. */
function findCaller(layout: usize, from: usize, to: usize): usize {
  const accountCount = load<u32>(layout, SIMPLE_ACCOUNT_COUNT);
  const length = <u32>(to - from);
  let caller = accountColumns(layout) + (accountCount << 2);
  for (let n = load<u32>(layout, EVENT_CALLER_COUNT); n > 0; n--, caller += CALLER_BYTES + (accountCount << 2)) {
    if (length < load<u32>(caller, CALLER_BYTES_MIN)) continue;
    if (memory.compare(from, <usize>load<u32>(caller, CALLER_TAG), load<u32>(caller, CALLER_TAG_LENGTH)) == 0) return caller;
  }
  return 0;
}

// @ts-ignore: decorator
@inline
function accountColumns(layout: usize): usize {
  return layout + EVENT_BYTES + load<u32>(layout, SIMPLE_VALUE_COUNT) * EVENT_VALUE_BYTES;
}

function numberAccounts(layout: usize, caller: usize, passedCount: u32, event: u32): void {
  const columns = accountColumns(layout);
  const accountCount = load<u32>(layout, SIMPLE_ACCOUNT_COUNT);
  for (let account: u32 = 0; account < accountCount; account++) {
    const number = load<i32>(caller + (account << 2), CALLER_BYTES);
    store<i32>(<usize>load<u32>(columns + (account << 2)) + (event << 2), number < <i32>passedCount ? number : -1);
  }
}
