// Matches a transaction's log with its calls, like `source/logs/parse-log.ts`, and appends the log rows. It handles only simple cases and
// returns false for all others, such as a log that contradicts the calls, or a call that printed nothing. A truncated log ends with a mark;
// the calls after the mark are placed by their heights.
import { addressLength, startsWithAddress } from './address-table';
import { heightOf, programIndexOf, programOf, setDropped, setError, setHeight, setUnits, startOf, topCount } from './calls';
import { errorTextOf } from './error-texts';
import { hasEscape, readEscapedText, take, textLength, textStart } from '../common/json';
import { listedPosition } from './key-list';
import { LOG_INDEX, LOG_INSTRUCTION, LOG_KIND, LOG_KIND_DATA, LOG_KIND_LOG, LOG_KIND_OTHER, LOG_LENGTH, LOG_PROGRAM, LOG_TEXT } from '../../layout/columns';
import { push, pushBytes } from './rows';

const lineCountMax: u32 = 8192;
const lineBytes: u32 = 12;

/** For each line its start, its length, and whether it has an escape. */
let lines: usize = 0;
export let lineCount: i32 = -1;
export let logCount: u32 = 0;

let cursor: u32 = 0;
/** The next call to pointer, and the first and the end of the current top-level instruction's calls. */
let next: u32 = 0;
let first: u32 = 0;
let end: u32 = 0;
/** The height of the call that was placed last. */
let lastHeight: u32 = 0;
let lastLogIndex: u32 = 0;

export const LOG_LINES_BYTES: u32 = lineCountMax * lineBytes;

export function placeLines(base: usize): void {
  lines = base;
}

export function beginLog(): void {
  lineCount = -1;
  logCount = 0;
}

export function beginLines(): void {
  lineCount = 0;
}

/** Adds a line, in the form of output JSON. */
export function addLine(text: usize, length: u32, isEscaped: bool): bool {
  if (<u32>lineCount == lineCountMax) return false;
  const line = lines + <u32>lineCount * lineBytes;
  lineCount++;
  store<u32>(line, <u32>text);
  store<u32>(line, length, 4);
  store<u32>(line, isEscaped ? 1 : 0, 8);
  return true;
}

export function readLines(): bool {
  if (!take(0x5b)) return false;
  lineCount = 0;
  if (take(0x5d)) return true;
  do {
    if (!readEscapedText() || !addLine(textStart, textLength, hasEscape)) return false;
  } while (take(0x2c));
  return take(0x5d);
}

/** Whether the last log was truncated. */
export let isTruncated: bool = false;

/** `failed` is the failed top-level instruction, after which none ran. */
export function walkLog(failed: u64): bool {
  cursor = 0;
  lastLogIndex = 0;
  for (let top: u32 = 0; top < <u32>topCount; top++) {
    first = startOf(top);
    end = startOf(top + 1);
    next = first;
    if (<u64>top > failed) {
      if (end - first > 1) return false;
      setHeight(first, 1);
    } else if (!walkCall(1) || !placeRest()) {
      return false;
    }
  }
  isTruncated = isAtMark();
  return isTruncated || cursor == <u32>lineCount;
}

/** Places the calls after the truncation by the heights that the source reports. */
function placeRest(): bool {
  if (next < end && !isAtMark()) return false;
  for (; next < end; next++) {
    const height: u32 = next == first ? <u32>1 : heightOf(next);
    if (next > first && (height < 2 || height > lastHeight + 1)) return false;
    setHeight(next, height);
    setDropped(next);
    lastHeight = height;
  }
  return true;
}

function isAtMark(): bool {
  if (cursor == <u32>lineCount) return false;
  const line = lines + cursor * lineBytes;
  return isTruncationMark(load<u32>(line), load<u32>(line, 4));
}

function walkCall(height: u32): bool {
  const call = next;
  if (call == end) return false;
  if (call > first) {
    const known = heightOf(call);
    if ((known != 0 && known != height) || height > lastHeight + 1) return false;
  }
  if (!isInvokeOfNext(height)) return isAtMark();
  setHeight(call, height);
  lastHeight = height;
  cursor++;
  next++;
  return walkFrame(call, height);
}

function walkFrame(call: u32, height: u32): bool {
  const program = programOf(call);
  while (cursor < <u32>lineCount) {
    const line = lines + cursor * lineBytes;
    const text = load<u32>(line);
    const length = load<u32>(line, 4);
    if (!startsWithProgram(text, length)) {
      if (isTruncationMark(text, length)) {
        setDropped(call);
        return true;
      }
      record(call, LOG_KIND_OTHER, text, length);
    } else if (isLogLine(text, length)) {
      record(call, LOG_KIND_LOG, text + 13, length - 13);
    } else if (isDataLine(text, length)) {
      record(call, LOG_KIND_DATA, text + 14, length - 14);
    } else if (load<u32>(line, 8) != 0) {
      return false;
    } else if (isInvokeOfNext(height + 1)) {
      if (!walkCall(height + 1)) return false;
    } else if (isOf(text, length, program)) {
      const ended = walkOwnLine(call, height, text, length);
      if (ended != goesOn) return ended == isDone;
    } else {
      if (namesProgram(text, length)) return false;
      record(call, LOG_KIND_OTHER, text, length);
    }
  }
  return false;
}

const goesOn: i32 = 0;
const isDone: i32 = 1;
const contradicts: i32 = 2;

/** Handles a line that names the program of the current frame. */
function walkOwnLine(call: u32, height: u32, text: usize, length: u32): i32 {
  const idEnd: u32 = 8 + addressLength(programOf(call)) + 1;
  const rest = text + idEnd;
  const restLength = length - idEnd;
  // 'success'
  if (restLength == 7 && load<u32>(rest) == 0x63637573 && load<u32>(rest, 3) == 0x73736563) {
    return endFrame(height, 2);
  }
  // 'consumed' + ' '
  if (restLength > 9 && load<u64>(rest) == 0x64656d75736e6f63 && load<u8>(rest, 8) == 0x20) {
    return readUnits(call, rest + 9, restLength - 9) ? goesOn : contradicts;
  }
  // 'failed: '
  if (restLength >= 8 && load<u64>(rest) == 0x203a64656c696166) {
    const error = errorTextOf(rest + 8, restLength - 8, true);
    if (error == 0) return contradicts;
    setError(call, error);
    return endFrame(height, height + 1);
  }
  return contradicts;
}

/** Checks that the next call was not made from this frame. `unknown` is the height of a call without a reported height. */
function endFrame(height: u32, unknown: u32): i32 {
  cursor++;
  if (next == end) return isDone;
  const known = heightOf(next);
  return (known == 0 ? unknown : known) <= height ? isDone : contradicts;
}

/** 'a of b compute units' */
function readUnits(call: u32, text: usize, length: u32): bool {
  const textEnd = text + length;
  let at = text;
  let units: u64 = 0;
  for (; at < textEnd && isDigit(at); at++) units = units * 10 + (<u64>load<u8>(at) - 48);
  if (at == text || at - text > 19) return false;
  // ' of '
  if (textEnd - at < 5 || load<u32>(at) != 0x20666f20) return false;
  at += 4;
  const limit = at;
  while (at < textEnd && isDigit(at)) at++;
  // ' compute' + 'e units'
  if (at == limit || textEnd - at != 14) return false;
  if (load<u64>(at) != 0x657475706d6f6320 || load<u64>(at, 6) != 0x7374696e75206574) return false;
  setUnits(call, units);
  cursor++;
  return true;
}

// @ts-ignore: decorator
@inline
function isDigit(at: usize): bool {
  return <u32>load<u8>(at) - 48 < 10;
}

function record(call: u32, kind: u32, text: usize, length: u32): void {
  push(LOG_INDEX, cursor - lastLogIndex);
  lastLogIndex = cursor;
  push(LOG_INSTRUCTION, call);
  push(LOG_PROGRAM, listedPosition(programIndexOf(call)));
  push(LOG_KIND, kind);
  push(LOG_LENGTH, length);
  pushBytes(LOG_TEXT, text, length);
  logCount++;
  cursor++;
}

/** 'Program ' */
function startsWithProgram(text: usize, length: u32): bool {
  return length >= 8 && load<u64>(text) == 0x206d6172676f7250;
}

/** 'log:' + ' ' */
function isLogLine(text: usize, length: u32): bool {
  return length >= 13 && load<u32>(text, 8) == 0x3a676f6c && load<u8>(text, 12) == 0x20;
}

/** 'data' + ': ' */
function isDataLine(text: usize, length: u32): bool {
  return length >= 14 && load<u32>(text, 8) == 0x61746164 && load<u16>(text, 12) == 0x203a;
}

/** 'Log trun' + 'runcated', overlapping */
function isTruncationMark(text: usize, length: u32): bool {
  return length == 13 && load<u64>(text) == 0x6e75727420676f4c && load<u64>(text, 5) == 0x64657461636e7572;
}

/** Whether the line begins 'Program', the program's text, and a space. */
function isOf(text: usize, length: u32, program: u32): bool {
  const idLength = addressLength(program);
  return length > 8 + idLength && startsWithAddress(text + 8, program) && load<u8>(text + 8 + idLength) == 0x20;
}

/** Returns whether the line at the cursor is the first line of the next call at this height. */
function isInvokeOfNext(height: u32): bool {
  if (next == end || cursor == <u32>lineCount || height > 9) return false;
  const line = lines + cursor * lineBytes;
  const text = load<u32>(line);
  const length = load<u32>(line, 4);
  const program = programOf(next);
  const rest = text + 9 + addressLength(program);
  if (length != 8 + addressLength(program) + 11 || !startsWithProgram(text, length) || !isOf(text, length, program)) return false;
  // 'invoke [' + height + ']'
  return load<u64>(rest) == 0x5b20656b6f766e69 && load<u8>(rest, 8) == <u8>(48 + height) && load<u8>(rest, 9) == 0x5d;
}

/** Returns whether there is a word of the length of a program id at the position of one. */
function namesProgram(text: usize, length: u32): bool {
  for (let at: u32 = 8; at < length; at++) if (load<u8>(text + at) == 0x20) return at - 8 >= 32 && at - 8 <= 44;
  return false;
}
