// The calls of the current transaction: each top-level instruction followed by its inner calls, in execution order (source/logs/call-tree.ts).
// The JSON may list them in any order; they are sorted after all were read.
import { BASE58_CHARACTERS_MAX } from '../../layout/reading';
import { BASE58_OUTPUT_SLACK, base58Decode } from '../common/base58-decode';
import { integer, readCount, readIndex, readText, skipValue, take, takeNull, textLength, textStart } from '../common/json';
import { keyAt, listedKeyCount, listedPosition } from './key-list';
import { CALL, F_ACCOUNTS, F_DATA, F_GROUP_INDEX, F_PROGRAM_INDEX, GROUP, MALFORMED, readName, TOKEN } from './names';
import {
  INS_ACCOUNT_COUNT, INS_ACCOUNTS, INS_DATA, INS_DATA_LENGTH, INS_DEPTH, INS_ERROR, INS_FLAGS,
  INS_FLAGS_DROPPED_LOGS, INS_ODD, INS_PROGRAM, INS_UNITS, INS_UNITS_NULL, OUTCOME_COMMITTED, OUTCOME_FAILED,
} from '../../layout/columns';
import { keepBytes, push, pushBytes, pushLong, reserveBytes } from './rows';

/** The longest data that a call of the ledger may have. */
const rawBytesMax: u32 = 10240;
const callCountMax: u32 = 4096;
const groupCountMax: u32 = 256;
/** The maximum number of accounts of all calls of a transaction. */
const accountCountMax: u32 = 65536;
/** No ledger allows deeper nesting (source/logs/call-tree.ts). */
const heightMax: u64 = 64;

// A call as it was read, 48 bytes.
const callBytes: u32 = 48;
const accountsStartOffset: usize = 4;
const accountCountOffset: usize = 8;
const dataStartOffset: usize = 12;
const dataLengthOffset: usize = 16;
/** The height that the source reports, or 0; later the height from the log. */
const heightOffset: usize = 20;
const unitsOffset: usize = 24;
const hasUnitsOffset: usize = 32;
const errorOffset: usize = 36;
const droppedOffset: usize = 40;

let calls: usize = 0;
let accounts: usize = 0;
/** A group of inner calls: its top-level instruction, its first call and the number of calls. */
let groups: usize = 0;
/** The calls in execution order, and the position of each top-level instruction in it. */
let order: usize = 0;
let starts: usize = 0;

let readCallCount: u32 = 0;
let readAccountCount: u32 = 0;
let topFirst: u32 = 0;
/** Whether the data of calls is bytes instead of base58. */
let isRaw: bool = false;
let groupCount: u32 = 0;
export let topCount: i32 = -1;
export let callCount: u32 = 0;

export const CALLS_BYTES: u32 = callCountMax * (callBytes + 8) + accountCountMax * 2 + groupCountMax * 12 + 16;

export function placeCalls(base: usize): void {
  calls = base;
  order = calls + callCountMax * callBytes;
  starts = order + callCountMax * 4;
  groups = starts + callCountMax * 4 + 8;
  accounts = groups + groupCountMax * 12;
}

export function beginCalls(areRaw: bool): void {
  isRaw = areRaw;
  readCallCount = 0;
  readAccountCount = 0;
  groupCount = 0;
  topCount = -1;
  callCount = 0;
}

export function readTopCalls(): bool {
  topFirst = readCallCount;
  if (!readCallList()) return false;
  topCount = <i32>(readCallCount - topFirst);
  return true;
}

export function beginTopCalls(): void {
  topFirst = readCallCount;
}

/** Returns the index of the first top-level call's program. */
export function topProgram(): u32 {
  return load<u32>(calls + topFirst * callBytes);
}

export function endTopCalls(): void {
  topCount = <i32>(readCallCount - topFirst);
}

/** Adds a call of a binary form. Its accounts are single bytes, and its height is 0 if it is unknown. */
export function addCall(program: u32, accountIndexes: usize, accountCount: u32, data: usize, dataLength: u32, height: u32): bool {
  if (readCallCount == callCountMax || accountCount > accountCountMax - readAccountCount || dataLength > rawBytesMax) return false;
  const call = calls + readCallCount++ * callBytes;
  store<u32>(call, program);
  store<u32>(call, readAccountCount, accountsStartOffset);
  store<u32>(call, accountCount, accountCountOffset);
  store<u32>(call, <u32>data, dataStartOffset);
  store<u32>(call, dataLength, dataLengthOffset);
  store<u32>(call, height, heightOffset);
  clearOutcome(call);
  for (let i: u32 = 0; i < accountCount; i++) store<u16>(accounts + (readAccountCount++ << 1), load<u8>(accountIndexes + i));
  return true;
}

/** Starts a group of inner calls. Returns false if there is no space for it. */
export function beginGroup(): bool {
  if (groupCount == groupCountMax) return false;
  store<u32>(groups + groupCount * 12, readCallCount, 4);
  return true;
}

export function endGroup(top: u32): void {
  const group = groups + groupCount++ * 12;
  store<u32>(group, top);
  store<u32>(group, readCallCount - load<u32>(group, 4), 8);
}

/** Reads the `innerInstructions` of a transaction's meta, or null. */
export function readInnerGroups(): bool {
  if (takeNull()) return true;
  if (!take(0x5b)) return false;
  if (take(0x5d)) return true;
  do {
    if (groupCount == groupCountMax || !readGroup(groups + groupCount++ * 12)) return false;
  } while (take(0x2c));
  return take(0x5d);
}

function readGroup(group: usize): bool {
  if (!take(0x7b)) return false;
  let seen: u32 = 0;
  let before = GROUP - 1;
  do {
    const name = readName(GROUP, TOKEN, before);
    if (name < 0) {
      if (name == MALFORMED || !skipValue()) return false;
      continue;
    }
    before = name;
    if (name == F_GROUP_INDEX) {
      if ((seen & 1) != 0 || !readCount(0xffff)) return false;
      store<u32>(group, <u32>integer);
      seen |= 1;
    } else {
      store<u32>(group, readCallCount, 4);
      if ((seen & 2) != 0 || !readCallList()) return false;
      store<u32>(group, readCallCount - load<u32>(group, 4), 8);
      seen |= 2;
    }
  } while (take(0x2c));
  return take(0x7d) && seen == 3;
}

function readCallList(): bool {
  if (!take(0x5b)) return false;
  if (take(0x5d)) return true;
  do {
    if (readCallCount == callCountMax || !readCall(calls + readCallCount * callBytes)) return false;
    readCallCount++;
  } while (take(0x2c));
  return take(0x5d);
}

function clearOutcome(call: usize): void {
  store<u32>(call, 0, hasUnitsOffset);
  store<u64>(call, 0, unitsOffset);
  store<u32>(call, 0, errorOffset);
  store<u32>(call, 0, droppedOffset);
}

function readCall(call: usize): bool {
  store<u32>(call, 0, heightOffset);
  clearOutcome(call);
  if (!take(0x7b)) return false;
  let seen: u32 = 0;
  let before = CALL - 1;
  do {
    const name = readName(CALL, GROUP, before);
    if (name < 0) {
      if (name == MALFORMED || !skipValue()) return false;
      continue;
    }
    before = name;
    if (!readCallMember(call, name)) return false;
    const bit: u32 = 1 << (name - CALL);
    if ((seen & bit) != 0) return false;
    seen |= bit;
  } while (take(0x2c));
  const isWhole = (seen & neededMembers) == neededMembers;
  return take(0x7d) && isWhole;
}

const neededMembers: u32 = (1 << (F_PROGRAM_INDEX - CALL)) | (1 << (F_ACCOUNTS - CALL)) | (1 << (F_DATA - CALL));

function readCallMember(call: usize, name: i32): bool {
  if (name == F_ACCOUNTS) return readAccounts(call);
  if (name == F_DATA) {
    if (!readText() || textLength > <u32>BASE58_CHARACTERS_MAX) return false;
    store<u32>(call, <u32>textStart, dataStartOffset);
    store<u32>(call, textLength, dataLengthOffset);
    return true;
  }
  if (name == F_PROGRAM_INDEX) {
    if (!readCount(0xffff)) return false;
    store<u32>(call, <u32>integer);
    return true;
  }
  if (takeNull()) return true;
  if (!readCount(heightMax) || integer == 0) return false;
  store<u32>(call, <u32>integer, heightOffset);
  return true;
}

function readAccounts(call: usize): bool {
  const first = readAccountCount;
  store<u32>(call, first, accountsStartOffset);
  if (!take(0x5b)) return false;
  if (!take(0x5d)) {
    do {
      if (readAccountCount == accountCountMax || !readIndex()) return false;
      store<u16>(accounts + (readAccountCount++ << 1), <u16>integer);
    } while (take(0x2c));
    if (!take(0x5d)) return false;
  }
  store<u32>(call, readAccountCount - first, accountCountOffset);
  return true;
}

/** Puts the calls in execution order. Returns false if a group has no instruction, or an instruction has several separate groups. */
export function orderCalls(): bool {
  callCount = 0;
  let group: u32 = 0;
  for (let top: u32 = 0; top < <u32>topCount; top++) {
    store<u32>(starts + (top << 2), callCount);
    append(topFirst + top);
    for (; group < groupCount; group++) {
      const entry = groups + group * 12;
      if (load<u32>(entry) != top) break;
      const first = load<u32>(entry, 4);
      const count = load<u32>(entry, 8);
      for (let i: u32 = 0; i < count; i++) append(first + i);
    }
  }
  store<u32>(starts + (<u32>topCount << 2), callCount);
  return group == groupCount && checkKeys();
}

function append(call: u32): void {
  store<u32>(order + (callCount++ << 2), <u32>(calls + call * callBytes));
}

/** Returns whether every program and account is one of the keys. */
function checkKeys(): bool {
  const count = listedKeyCount();
  for (let i: u32 = 0; i < readAccountCount; i++) if (load<u16>(accounts + (i << 1)) >= <u16>count) return false;
  for (let i: u32 = 0; i < readCallCount; i++) if (load<u32>(calls + i * callBytes) >= count) return false;
  return true;
}

// @ts-ignore: decorator
@inline
function callAt(number: u32): usize {
  return load<u32>(order + (number << 2));
}

/** Returns the position of a top-level instruction among the calls, or the number of calls for the end. */
export function startOf(top: u32): u32 {
  return load<u32>(starts + (top << 2));
}

/** Returns the index of a call's program in the listed keys. */
export function programIndexOf(call: u32): u32 {
  return load<u32>(callAt(call));
}

export function programOf(call: u32): u32 {
  return keyAt(programIndexOf(call));
}

export function heightOf(call: u32): u32 {
  return load<u32>(callAt(call), heightOffset);
}

export function setHeight(call: u32, height: u32): void {
  store<u32>(callAt(call), height, heightOffset);
}

export function setUnits(call: u32, units: u64): void {
  store<u64>(callAt(call), units, unitsOffset);
  store<u32>(callAt(call), 1, hasUnitsOffset);
}

export function setError(call: u32, error: u32): void {
  store<u32>(callAt(call), error, errorOffset);
}

/** Marks a call as having dropped log lines. */
export function setDropped(call: u32): void {
  store<u32>(callAt(call), INS_FLAGS_DROPPED_LOGS, droppedOffset);
}

/** Appends the rows of all calls. Returns false if the data of a call is not base58. */
export function pushCalls(isCommitted: bool): bool {
  for (let number: u32 = 0; number < callCount; number++) {
    const call = callAt(number);
    push(INS_DEPTH, load<u32>(call, heightOffset));
    push(INS_ODD, 0);
    push(INS_PROGRAM, listedPosition(load<u32>(call)));
    const first = load<u32>(call, accountsStartOffset);
    const count = load<u32>(call, accountCountOffset);
    push(INS_ACCOUNT_COUNT, count);
    if (!pushAccounts(first, count)) return false;
    if (!pushData(load<u32>(call, dataStartOffset), load<u32>(call, dataLengthOffset))) return false;
    push(INS_ERROR, load<u32>(call, errorOffset));
    pushLong(INS_UNITS, load<u64>(call, unitsOffset));
    push(INS_UNITS_NULL, 1 - load<u32>(call, hasUnitsOffset));
    push(INS_FLAGS, (isCommitted ? OUTCOME_COMMITTED : OUTCOME_FAILED) | load<u32>(call, droppedOffset));
  }
  return true;
}

function pushAccounts(first: u32, count: u32): bool {
  const cursor = reserveBytes(INS_ACCOUNTS, count << 2);
  if (cursor == 0) return false;
  for (let i: u32 = 0; i < count; i++) {
    store<u32>(cursor + (i << 2), listedPosition(load<u16>(accounts + ((first + i) << 1))));
  }
  keepBytes(INS_ACCOUNTS, count << 2);
  return true;
}

function pushData(text: usize, length: u32): bool {
  if (isRaw) {
    pushBytes(INS_DATA, text, length);
    push(INS_DATA_LENGTH, length);
    return true;
  }
  const cursor = reserveBytes(INS_DATA, length + BASE58_OUTPUT_SLACK);
  if (cursor == 0) return false;
  const byteCount = base58Decode(text, length, cursor);
  if (byteCount < 0) return false;
  keepBytes(INS_DATA, byteCount);
  push(INS_DATA_LENGTH, byteCount);
  return true;
}
