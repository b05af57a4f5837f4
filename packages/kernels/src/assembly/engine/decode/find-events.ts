// Where the events of an instruction are: in log lines, and in the data by which the program calls itself.
import {
  DECODING_ADDRESSES, DECODING_ADDRESS_STARTS, DECODING_DATA, DECODING_DATA_STARTS, DECODING_INS_DEPTH, DECODING_INS_PROGRAM, DECODING_INS_STARTS,
  DECODING_LOG_INSTRUCTION, DECODING_LOG_KIND, DECODING_MESSAGES, DECODING_MESSAGE_STARTS,
} from '../../../layout/decoding';
import { LOG_KIND_DATA } from '../../../layout/columns';
import { decodeBase64Texts } from './base64';

/** The text of a longer log line is decoded by the host. */
const MESSAGE_BYTES_MAX: u32 = 1 << 15;
/** The memory for a decoded log line. */
export const MESSAGE_BYTES: u32 = MESSAGE_BYTES_MAX;
/** The bytes of the log line that was decoded last. */
export let message: usize = 0;

export function setMessage(memory: usize): void {
  message = memory;
}

/** The first bytes of the data by which an Anchor program calls itself to record an event. */
const EVENT_CALL_TAG: u64 = 0x1d9acb512ea545e4;
export const EVENT_CALL_TAG_BYTES: u32 = 8;

/** Returns the value of a row in a column of the table. */
// @ts-ignore: decorator
@inline
export function valueAt(table: usize, column: u32, row: u32): u32 {
  return load<u32>(<usize>load<u32>(table + column) + (row << 2));
}

// @ts-ignore: decorator
@inline
export function dataOf(table: usize, row: u32): usize {
  return <usize>load<u32>(table, DECODING_DATA) + valueAt(table, DECODING_DATA_STARTS, row);
}

// @ts-ignore: decorator
@inline
export function isEventCall(from: usize, to: usize): bool {
  return to - from >= EVENT_CALL_TAG_BYTES && load<u64>(from) == EVENT_CALL_TAG;
}

/** Returns whether a log line has data of the instruction at a position in its transaction. */
// @ts-ignore: decorator
@inline
export function isDataOf(table: usize, log: u32, position: u32): bool {
  return valueAt(table, DECODING_LOG_INSTRUCTION, log) == position && valueAt(table, DECODING_LOG_KIND, log) == LOG_KIND_DATA;
}

/** Decodes the data of a log line to `message`. Returns its end, or 0 if the host decodes it. */
export function decodeLog(table: usize, log: u32): usize {
  const messages = <usize>load<u32>(table, DECODING_MESSAGES);
  const from = messages + valueAt(table, DECODING_MESSAGE_STARTS, log);
  const to = messages + valueAt(table, DECODING_MESSAGE_STARTS, log + 1);
  return to - from > MESSAGE_BYTES_MAX ? 0 : decodeBase64Texts(from, to, message);
}

/** Returns the next call after a row by which an instruction recorded an event, or the end of the rows of the transaction. */
export function nextEventCall(table: usize, transaction: u32, row: u32, after: u32): u32 {
  const depth = valueAt(table, DECODING_INS_DEPTH, row);
  const program = valueAt(table, DECODING_INS_PROGRAM, row);
  const callEnd = valueAt(table, DECODING_INS_STARTS, transaction + 1);
  for (let call = after + 1; call < callEnd && valueAt(table, DECODING_INS_DEPTH, call) > depth; call++) {
    if (valueAt(table, DECODING_INS_DEPTH, call) != depth + 1 || valueAt(table, DECODING_INS_PROGRAM, call) != program) continue;
    if (isEventCall(dataOf(table, call), dataOf(table, call + 1)) && isCalledBy(table, call, row)) return call;
  }
  return callEnd;
}

/** Compares the addresses: a caller may be missing in the data of a node, so depths alone are not enough. */
function isCalledBy(table: usize, call: u32, caller: u32): bool {
  const addresses = <usize>load<u32>(table, DECODING_ADDRESSES);
  const callStart = valueAt(table, DECODING_ADDRESS_STARTS, call);
  const callLength = valueAt(table, DECODING_ADDRESS_STARTS, call + 1) - callStart;
  const callerStart = valueAt(table, DECODING_ADDRESS_STARTS, caller);
  // Without the bracket at the end.
  const length = valueAt(table, DECODING_ADDRESS_STARTS, caller + 1) - callerStart - 1;
  if (callLength <= length || load<u8>(addresses + callStart + length) != 0x2c) return false;
  return memory.compare(addresses + callStart, addresses + callerStart, length) == 0;
}
