// Writes the decoded form of an instruction or a log: finds the decoder of its program and the layout of its data, and runs its code. What
// the code leaves to the host, the host decodes: the kernel stops before the record, and `need` says which row it is.
import {
  DECODER_EVENTS, DECODER_HAS_EVENTS, DECODER_INSTRUCTIONS, DECODER_NO_EVENT, DECODER_NO_INSTRUCTION, DECODING_HOST_KIND, DECODING_HOST_LENGTH,
  DECODING_HOST_ROW, DECODING_HOST_TEXT, DECODING_NEXT_ROW, DECODING_INS_PROGRAM, DECODING_INS_STARTS, DECODING_LOG_KIND, DECODING_LOG_PROGRAM,
  DECODING_LOG_STARTS, LAYOUT_CODE, LAYOUT_FIELDS_AT, NEED_LOG,
} from '../../../layout/decoding';
import { LOG_KIND_DATA } from '../../../layout/columns';
import { keyStarts, keys, limit, setBlock, setLimit } from '../write-context';
import { copyText } from '../write-texts';
import { at, end } from './cursor';
import { decoderOf, need } from './decoder-table';
import {
  EVENT_CALL_TAG_BYTES, MESSAGE_BYTES, dataOf, decodeLog, isDataOf, isEventCall, message, nextEventCall, setMessage, valueAt,
} from './find-events';
import { findLayout } from './find-layout';
import { writeHexText } from './hex-digits';
import { KEY_CACHE_BYTES, setKeyCache } from './key-cache';
import { fits, isTextOverfull, runCode, setTextEnd } from './run-code';
import { writeNamedAccounts, writePassedAccounts } from './write-accounts';

/** The host decodes longer texts, so that a row fits an empty output buffer. */
const TEXT_BYTES_MAX: usize = 1 << 17;
export const DECODING_CACHE_BYTES: u32 = KEY_CACHE_BYTES + MESSAGE_BYTES;

/** `memory` is zeroed memory of DECODING_CACHE_BYTES. */
export function setDecodingCache(memory: usize): void {
  setKeyCache(memory);
  setMessage(memory + KEY_CACHE_BYTES);
}

const TRAILING_TEXT = memory.data<u8>([0x2c, 0x22, 0x74, 0x72, 0x61, 0x69, 0x6c, 0x69, 0x6e, 0x67, 0x22, 0x3a, 0x00, 0x00, 0x00, 0x00]); // ,"trailing":
const ACCOUNTS_TEXT = memory.data<u8>([0x2c, 0x22, 0x61, 0x63, 0x63, 0x6f, 0x75, 0x6e, 0x74, 0x73, 0x22, 0x3a, 0x7b, 0x00, 0x00, 0x00]); // ,"accounts":{
const REMAINING_TEXT = memory.data<u8>([0x7d, 0x2c, 0x22, 0x72, 0x65, 0x6d, 0x61, 0x69, 0x6e, 0x69, 0x6e, 0x67, 0x22, 0x3a, 0x5b, 0x00]); // },"remaining":[
const EVENTS_TEXT = memory.data<u8>([0x5d, 0x2c, 0x22, 0x65, 0x76, 0x65, 0x6e, 0x74, 0x73, 0x22, 0x3a, 0x5b, 0x00, 0x00, 0x00, 0x00]); // ],"events":[
const EVENT_CALL_TEXT = memory.data<u8>([
  0x2c, 0x22, 0x69, 0x73, 0x45, 0x76, 0x65, 0x6e, 0x74, 0x22, 0x3a, 0x74, 0x72, 0x75, 0x65, 0x2c, 0x22, 0x61, 0x63, 0x63, 0x6f, 0x75, 0x6e, 0x74,
  0x73, 0x22, 0x3a, 0x7b, 0x7d, 0x2c, 0x22, 0x72, 0x65, 0x6d, 0x61, 0x69, 0x6e, 0x69, 0x6e, 0x67, 0x22, 0x3a, 0x5b, 0x00, 0x00, 0x00, 0x00, 0x00,
]); // ,"isEvent":true,"accounts":{},"remaining":[
/** Writes a row of a kind. Returns 0 if it does not fit, or if the host is needed first. */
export function writeDecoded(table: usize, kind: u32, transaction: u32, row: u32, out: usize): usize {
  if (load<u32>(table, DECODING_HOST_KIND) == kind && load<u32>(table, DECODING_HOST_ROW) == row) {
    const length = load<u32>(table, DECODING_HOST_LENGTH);
    return out + length + 64 > limit ? 0 : copyText(load<u32>(table, DECODING_HOST_TEXT), length, out);
  }
  if (kind == NEED_LOG && valueAt(table, DECODING_LOG_KIND, row) != LOG_KIND_DATA) {
    store<u32>(out, 0x6c6c756e);
    return out + 4;
  }
  const program = valueAt(table, kind == NEED_LOG ? DECODING_LOG_PROGRAM : DECODING_INS_PROGRAM, row);
  const decoder = decoderOf(table, load<u32>(keys + ((load<u32>(keyStarts + (transaction << 2)) + program) << 2)));
  if (decoder == 0) return 0;
  setTextEnd(min(limit, out + TEXT_BYTES_MAX));
  const after = kind == NEED_LOG ? writeLogEvent(table, decoder, row, out) : writeInstruction(table, decoder, transaction, row, out);
  if (after != 0) return after;
  const isFull = isTextOverfull() && limit < out + TEXT_BYTES_MAX;
  if (!isFull) need(table, kind, row, transaction);
  return 0;
}

/**
 * Writes the texts of the flagged rows of a block from the next row of the table on. Each ends where the text of the next row starts.
 * Returns whether all rows are written; otherwise the host is needed, or the space for the texts ends.
 */
export function writeDecodedRows(
  table: usize,
  kind: u32,
  block: u32,
  marks: usize,
  flags: usize,
  rowStarts: usize,
  transaction: u32,
  transactionEnd: u32,
  starts: usize,
  texts: usize,
  length: u32,
  capacity: u32,
): bool {
  setBlock(block);
  setLimit(texts + capacity);
  let row = load<u32>(table, DECODING_NEXT_ROW);
  let out = texts + length;
  for (; transaction < transactionEnd; transaction++) {
    const rowEnd = load<u32>(rowStarts + (transaction << 2), 4);
    for (; row < rowEnd; row++) {
      if (load<u8>(marks + transaction) != 0 && load<u8>(flags + row) != 0) {
        const after: usize = out + 64 > limit ? 0 : writeDecoded(table, kind, transaction, row, out);
        store<u32>(table, row, DECODING_NEXT_ROW);
        if (after == 0) return false;
        out = after;
      }
      store<u32>(starts + (row << 2), <u32>(out - texts), 4);
    }
  }
  store<u32>(table, row, DECODING_NEXT_ROW);
  return true;
}

function writeInstruction(table: usize, decoder: usize, transaction: u32, row: u32, out: usize): usize {
  const from = dataOf(table, row);
  const to = dataOf(table, row + 1);
  const hasEvents = load<u32>(decoder, DECODER_HAS_EVENTS) != 0;
  if (hasEvents && isEventCall(from, to)) return writeEventCall(table, decoder, transaction, row, from, to, out);
  const layout = findLayout(decoder, decoder + DECODER_INSTRUCTIONS, from, to);
  if (layout == 0) return writeUnknown(decoder + load<u32>(decoder, DECODER_NO_INSTRUCTION), from, to, out);
  out = writeArguments(decoder, layout, from, to, out);
  if (out == 0 || !fits(out, 0)) return 0;
  out = writeNamedAccounts(table, decoder, layout, transaction, row, copyText(ACCOUNTS_TEXT, 13, out), REMAINING_TEXT);
  if (out == 0 || !fits(out, 0)) return 0;
  out = copyText(EVENTS_TEXT, 12, out);
  if (hasEvents) out = writeEvents(table, decoder, transaction, row, out);
  if (out == 0) return 0;
  store<u16>(out, 0x7d5d);
  return out + 2;
}

/** Writes why the data has no layout, and the data. */
function writeUnknown(text: usize, from: usize, to: usize, out: usize): usize {
  const length = load<u32>(text);
  if (!fits(out, <usize>length + ((to - from) << 1))) return 0;
  // The text of the decoder ends with `"0x`, which `writeHexText` writes too, so these three bytes are overwritten.
  out = writeHexText(from, <u32>(to - from), copyText(text + 4, length, out) - 3);
  store<u8>(out, 0x7d);
  return out + 1;
}

/** Writes the object of a layout up to its arguments and the bytes after them. */
function writeArguments(decoder: usize, layout: usize, from: usize, to: usize, out: usize): usize {
  out = runCode(decoder, decoder + load<u32>(layout, LAYOUT_CODE), from, to, load<u32>(layout, LAYOUT_FIELDS_AT), out);
  if (out == 0 || at >= end) return out;
  if (!fits(out, (end - at) << 1)) return 0;
  return writeHexText(at, <u32>(end - at), copyText(TRAILING_TEXT, 12, out));
}

function writeEvent(decoder: usize, from: usize, to: usize, out: usize): usize {
  if (!fits(out, 0)) return 0;
  const layout = findLayout(decoder, decoder + DECODER_EVENTS, from, to);
  if (layout == 0) return writeUnknown(decoder + load<u32>(decoder, DECODER_NO_EVENT), from, to, out);
  out = writeArguments(decoder, layout, from, to, out);
  if (out == 0) return 0;
  store<u8>(out, 0x7d);
  return out + 1;
}

function writeEventCall(table: usize, decoder: usize, transaction: u32, row: u32, from: usize, to: usize, out: usize): usize {
  out = writeEvent(decoder, from + EVENT_CALL_TAG_BYTES, to, out);
  if (out == 0 || !fits(out, 0)) return 0;
  out = writePassedAccounts(table, transaction, row, 0, copyText(EVENT_CALL_TEXT, 43, out - 1));
  if (out == 0 || !fits(out, 0)) return 0;
  out = copyText(EVENTS_TEXT, 12, out);
  store<u16>(out, 0x7d5d);
  return out + 2;
}

function writeLogEvent(table: usize, decoder: usize, row: u32, out: usize): usize {
  const decodedEnd = decodeLog(table, row);
  return decodedEnd == 0 ? 0 : writeEvent(decoder, message, decodedEnd, out);
}

/** Writes the events in the log lines of an instruction, then those that the program recorded by calling itself. */
function writeEvents(table: usize, decoder: usize, transaction: u32, row: u32, out: usize): usize {
  const first = out;
  const position = row - valueAt(table, DECODING_INS_STARTS, transaction);
  const logEnd = valueAt(table, DECODING_LOG_STARTS, transaction + 1);
  for (let log = valueAt(table, DECODING_LOG_STARTS, transaction); log < logEnd; log++) {
    if (!isDataOf(table, log, position)) continue;
    if (out > first) store<u8>(out++, 0x2c);
    out = writeLogEvent(table, decoder, log, out);
    if (out == 0) return 0;
  }
  return writeCalledEvents(table, decoder, transaction, row, out, first);
}

function writeCalledEvents(table: usize, decoder: usize, transaction: u32, row: u32, out: usize, first: usize): usize {
  const callEnd = valueAt(table, DECODING_INS_STARTS, transaction + 1);
  for (let call = nextEventCall(table, transaction, row, row); call < callEnd; call = nextEventCall(table, transaction, row, call)) {
    if (out > first) store<u8>(out++, 0x2c);
    out = writeEvent(decoder, dataOf(table, call) + EVENT_CALL_TAG_BYTES, dataOf(table, call + 1), out);
    if (out == 0) return 0;
  }
  return out;
}
