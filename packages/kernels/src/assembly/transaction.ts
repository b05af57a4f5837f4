// Converts the JSON of a block's transactions to rows, without creating JavaScript objects. It accepts only ordinary transactions. It
// removes the rows of any other transaction and leaves it to `source/normalize/normalize-transaction.ts` and `segment/write/append-block.ts`,
// which define the rows of a transaction. The rows of an accepted transaction are the same as theirs.
// 
//   block ─► scan (common/scan.ts): positions of its transactions
//   transaction ─► one pass over the JSON: keys, calls, log lines, balances ─► key list ─► log matched with calls ─► rows
import { ADDRESS_TABLE_BYTES, addressText, placeAddresses, readAddress, renewAddresses, TEXT_BYTES } from './transaction/address-table';
import { base58Initialize, BASE58_TABLE_BYTES } from './common/base58';
import { BASE58_DECODE_BYTES, BASE58_OUTPUT_SLACK, base58Decode, base58DecodeInitialize } from './common/base58-decode';
import { ARCHIVE_BYTES, foundTransactionCount, listSections, placeArchive, positions, sections } from './transaction/archive';
import { BALANCES_BYTES, beginBalances, placeBalances, readPostBalances, readPostTokens, readPreBalances, readPreTokens } from './transaction/balances';
import { beginBinary, BINARY_BYTES, DROPPED_VOTE, errorNames, placeBinary, readConfirmed, readNode, setErrorNameCount, TAKEN } from './transaction/binary';
import { beginCalls, CALLS_BYTES, orderCalls, placeCalls, programOf, readInnerGroups, readTopCalls, topCount } from './transaction/calls';
import { ERROR_TEXT_BYTES, errorTextCount, errorTextLength, errorTextOf, errorTextStart, placeErrorTexts, renewErrorTexts } from './transaction/error-texts';
import { forget, goTo, goToValue, noteMembers, notePlace } from './transaction/fields';
import { at, end, integer, moveTo, openJson, readCount, readText, readUlong, skipSpace, skipText, skipValue, take, takeNull, textLength, textStart } from './common/json';
import { beginBlockKeys, beginKeys, blockKeyCount, blockKeys, endOfListed, isListFull, KEY_LIST_BYTES, placeKeyList, positionOf } from './transaction/key-list';
import { beginLog, isTruncated, lineCount, LOG_LINES_BYTES, placeLines, readLines } from './transaction/log-walk';
import { addKeys, pushOutcome } from './transaction/outcome';
import {
  CALL, defineNames, ENTRY, F_ACCOUNT_KEYS, F_ERR, F_FEE, F_HEADER, F_INNER, F_INSTRUCTIONS, F_LOADED, F_LOADED_READONLY, F_LOADED_WRITABLE,
  F_LOG, F_LOOKUP_KEY, F_LOOKUP_READONLY, F_LOOKUP_WRITABLE, F_LOOKUPS, F_MESSAGE, F_META, F_POST_BALANCES, F_POST_TOKENS,
  F_PRE_BALANCES, F_PRE_TOKENS, F_READONLY_SIGNED, F_READONLY_UNSIGNED, F_RECENT_BLOCKHASH, F_REQUIRED_SIGNATURES, F_SIGNATURES,
  F_TRANSACTION, F_UNITS, F_VERSION, HEADER, isSame, LOADED, LOOKUP, MALFORMED, MESSAGE, META, NAME_COUNT, readName, TRANSACTION,
} from './transaction/names';
import {
  LOOKUP_INDEXES, LOOKUP_KEY, LOOKUP_READONLY_COUNT, LOOKUP_WRITABLE_COUNT, TX_BLOCKHASH, TX_ERR, TX_FEE, TX_FEE_NULL, TX_INDEX,
  TX_LOOKUP_COUNT, TX_READONLY_COUNT, TX_READONLY_SIGNED, TX_READONLY_UNSIGNED, TX_REQUIRED_SIGNATURES, TX_SIGNATURE_COUNT,
  TX_SIGNATURES, TX_STATIC_COUNT, TX_UNITS, TX_UNITS_NULL, TX_VERSION, TX_WRITABLE_COUNT,
} from '../layout/columns';
import {
  emptyColumns, isFull, keepBytes, locateColumns, push, pushLong, reserveBytes, settleRows, takeBackRows,
} from './transaction/rows';

import { beginScan, partsAddress, scanBytes } from './common/scan';
import { VOTE_BYTES_MAX } from '../layout/reading';
import { isSurelyVote, voteProgram } from './common/vote';

export { columnBytes, columnStart } from './transaction/rows';
export { partCount, partsAddress, runCount, runsAddress, scanFlags, scanTo } from './common/scan';

/** Several times the largest real transaction. */
const transactionBytesMax: u32 = 256 << 10;
const listCountMax: u32 = 512;
const signatureBytes: u32 = 64;
const signatureLengthMax: u32 = 88;

let input: usize = 0;
/** Addresses of the three lists that make the listed keys. */
const staticKeys = memory.data(512 * 4, 4);
const writableKeys = memory.data(512 * 4, 4);
const readonlyKeys = memory.data(512 * 4, 4);
let staticCount: i32 = 0;
let writableCount: i32 = 0;
let readonlyCount: i32 = 0;
let signatureCount: i32 = -1;
let lookupCount: u32 = 0;
let lookupIndexCount: u32 = 0;
/** The failed top-level instruction, or all ones if none failed. */
let failed: u64 = 0;
let error: u32 = 0;
let dropsVotes: bool = false;
let droppedVotes: u32 = 0;
let truncatedLogs: u32 = 0;
/** The compact start of an error that names an instruction. */
const instructionError = memory.data(32, 16);

/** Lays out the memory, once. The block is last, because its length varies. */
export function initialize(): void {
  let cursor: usize = (__heap_base + 63) & ~63;
  const decoder = cursor;
  cursor += BASE58_DECODE_BYTES + 64;
  const encoder = (cursor + 63) & ~63;
  cursor = encoder + BASE58_TABLE_BYTES;
  const addresses = (cursor + 63) & ~63;
  cursor = addresses + ADDRESS_TABLE_BYTES;
  const keyList = cursor;
  cursor += KEY_LIST_BYTES;
  const texts = cursor;
  cursor += ERROR_TEXT_BYTES;
  const calls = cursor;
  cursor += CALLS_BYTES;
  const lines = (cursor + 7) & ~7;
  const balances = lines + LOG_LINES_BYTES;
  const binary = (balances + BALANCES_BYTES + 63) & ~63;
  const archive = binary + BINARY_BYTES;
  cursor = archive + ARCHIVE_BYTES;
  // The last column may be written slightly beyond its end.
  input = (locateColumns(cursor) + 128 + 63) & ~63;
  const pages = <i32>((input + 65535) >> 16);
  if (pages > memory.size()) memory.grow(pages - memory.size());
  base58DecodeInitialize(decoder);
  base58Initialize(encoder);
  placeAddresses(addresses);
  placeKeyList(keyList);
  placeErrorTexts(texts);
  placeCalls(calls);
  placeLines(lines);
  placeBalances(balances);
  placeBinary(binary);
  placeArchive(archive);
  defineNames();
  setText(instructionError, '{"InstructionError":[');
}

function setText(cursor: usize, text: string): void {
  for (let i = 0; i < text.length; i++) store<u8>(cursor + <usize>i, <u8>text.charCodeAt(i));
}

export function inputAddress(): usize {
  return input;
}

/** Returns the memory for a block of this length. */
export function memoryBytes(length: u32): usize {
  return input + scanBytes(length);
}

/** Starts a block of `length` bytes. The caller then writes it to the input in pieces and scans each. */
export function beginText(length: u32, depthMax: i32): void {
  beginScan(input, length, depthMax);
}

/** Returns the address at which the caller stores the text of the vote program, once. */
export function voteProgramAddress(): usize {
  return voteProgram;
}

/** Returns the keys of 32 bytes, by the ids in the key lists. */
export function keysAddress(): usize {
  return blockKeys;
}

export function keyCount(): u32 {
  return blockKeyCount;
}

/** Texts of errors, by the numbers (from 1) in the rows. */
export function textCount(): u32 {
  return errorTextCount;
}

export function textAddress(number: u32): usize {
  return errorTextStart(number);
}

export function textBytes(number: u32): u32 {
  return errorTextLength(number);
}

/** Starts the rows of a block. */
export function begin(areVotesDropped: bool, isBinary: bool): void {
  dropsVotes = areVotesDropped;
  droppedVotes = 0;
  truncatedLogs = 0;
  emptyColumns();
  beginBlockKeys();
  renewAddresses(isBinary);
  renewErrorTexts();
  if (isBinary) beginBinary();
}

/** Returns how many votes were dropped since the start of the block. */
export function droppedVoteCount(): u32 {
  return droppedVotes;
}

/** Returns how many of the block's accepted transactions have a truncated log. */
export function truncatedLogCount(): u32 {
  return truncatedLogs;
}

/**
 * Reads the parts of the scanned block from `first` up to `last`, which are the transactions from `index` on, until the first one that it
 * does not accept. Returns the number of that part, which has no rows.
 */
export function takeParts(first: u32, last: u32, index: u32): u32 {
  const parts = partsAddress();
  for (let part = first; part < last; part++) {
    const start = load<u32>(parts + (part << 3));
    const length = load<u32>(parts + (part << 3), 4) - start;
    if (!takePart(input + start, length, index + part - first)) return part;
  }
  return last;
}

function takePart(start: usize, length: u32, index: u32): bool {
  if (dropsVotes && length <= <u32>VOTE_BYTES_MAX && isSurelyVote(start, length)) {
    droppedVotes++;
    return true;
  }
  return length <= transactionBytesMax && append(start, length, index);
}

function append(start: usize, length: u32, index: u32): bool {
  openJson(start, length);
  beginKeys();
  beginCalls(false);
  beginLog();
  beginBalances();
  staticCount = -1;
  writableCount = 0;
  readonlyCount = 0;
  signatureCount = -1;
  forget(ENTRY, NAME_COUNT);
  return settle(readEntry() && pushRows(index));
}

/** Commits the rows of a transaction if it was read, and removes them otherwise. */
function settle(isRead: bool): bool {
  if (isRead && !isFull && !isListFull) {
    settleRows();
    if (isTruncated) truncatedLogs++;
    return true;
  }
  takeBackRows();
  return false;
}

/** Returns the memory for a binary block of this length. */
export function binaryBytes(length: u32): usize {
  return input + length + 64;
}

/** Returns the address of the names of instruction errors, each of which has its length in front. */
export function errorNamesAddress(): usize {
  return errorNames;
}

/** Says how many names of errors the caller has stored. */
export function defineErrors(count: u32): void {
  setErrorNameCount(count);
}

/** Returns the address of the positions of the transactions, which the caller stores unless `listNodes` does. */
export function positionsAddress(): usize {
  return positions;
}

/** Returns the address of the positions of the nodes that `listNodes` has found. */
export function sectionsAddress(): usize {
  return sections;
}

/** Lists the nodes of a block of an archive from an offset on. Returns how many there are, or 0 if they must be read in another way. */
export function listNodes(offset: u32, length: u32): u32 {
  return listSections(input, input + offset, input + length);
}

/** Returns how many transactions `listNodes` has found. */
export function listedCount(): u32 {
  return foundTransactionCount();
}

/** Reads the protobufs of the transactions from `first` up to `last`. Returns the first one that must be read in another way, or `last`. */
export function takeConfirmed(first: u32, last: u32): u32 {
  for (let index = first; index < last; index++) {
    const start = load<u32>(positions + (index << 3));
    const length = load<u32>(positions + (index << 3), 4) - start;
    if (!settleBinary(readConfirmed(input + start, length, index, dropsVotes))) return index;
  }
  return last;
}

/** Like `takeConfirmed`, for transaction nodes of an archive. */
export function takeNodes(first: u32, last: u32, slot: f64): u32 {
  for (let index = first; index < last; index++) {
    const start = load<u32>(positions + (index << 3));
    const length = load<u32>(positions + (index << 3), 4) - start;
    if (!settleBinary(readNode(input + start, length, index, <u64>slot, dropsVotes))) return index;
  }
  return last;
}

function settleBinary(result: i32): bool {
  if (result != DROPPED_VOTE) return settle(result == TAKEN);
  droppedVotes++;
  return true;
}

function readEntry(): bool {
  if (!readMembers(ENTRY, TRANSACTION)) return false;
  skipSpace();
  return at == end;
}

/** Reads the members of an object. Large members are read during the same pass. */
function readMembers(first: i32, last: i32): bool {
  if (!take(0x7b)) return false;
  if (take(0x7d)) return true;
  let before = first - 1;
  do {
    const name = readName(first, last, before);
    if (name < 0) {
      if (name == MALFORMED || !skipValue()) return false;
      continue;
    }
    if (!notePlace(name) || !readMember(name)) return false;
    before = name;
  } while (take(0x2c));
  return take(0x7d);
}

function readMember(name: i32): bool {
  switch (name) {
    case F_TRANSACTION: return readMembers(TRANSACTION, MESSAGE);
    case F_MESSAGE: return readMembers(MESSAGE, META);
    case F_META: return readMembers(META, LOADED);
    case F_LOADED: return takeNull() || readMembers(LOADED, HEADER);
    case F_SIGNATURES: return readSignatures();
    case F_ACCOUNT_KEYS: return (staticCount = readAddresses(staticKeys)) > 0;
    case F_LOADED_WRITABLE: return takeNull() || (writableCount = readAddresses(writableKeys)) >= 0;
    case F_LOADED_READONLY: return takeNull() || (readonlyCount = readAddresses(readonlyKeys)) >= 0;
    case F_INSTRUCTIONS: return readTopCalls();
    case F_INNER: return readInnerGroups();
    case F_LOG: return readLines();
    case F_PRE_BALANCES: return readPreBalances();
    case F_POST_BALANCES: return readPostBalances();
    case F_PRE_TOKENS: return readPreTokens();
    case F_POST_TOKENS: return readPostTokens();
    default: return skipValue();
  }
}

/** Returns the number of addresses in the list, or -1 if the value is not a list of addresses. */
function readAddresses(out: usize): i32 {
  if (!take(0x5b)) return -1;
  if (take(0x5d)) return 0;
  let count: u32 = 0;
  do {
    const address = count == listCountMax ? -1 : readAddress();
    if (address < 0) return -1;
    store<u32>(out + (count++ << 2), <u32>address);
  } while (take(0x2c));
  return take(0x5d) ? <i32>count : -1;
}

function readSignatures(): bool {
  if (!take(0x5b)) return false;
  signatureCount = 0;
  if (take(0x5d)) return true;
  do {
    if (!readText() || textLength > signatureLengthMax) return false;
    const cursor = reserveBytes(TX_SIGNATURES, signatureLengthMax + BASE58_OUTPUT_SLACK);
    if (cursor == 0 || base58Decode(textStart, textLength, cursor) != <i32>signatureBytes) return false;
    keepBytes(TX_SIGNATURES, signatureBytes);
    signatureCount++;
  } while (take(0x2c));
  return take(0x5d);
}

function pushRows(index: u32): bool {
  if (staticCount < 0 || signatureCount < 0 || topCount < 1 || lineCount < 1) return false;
  pushListedKeys();
  if (!orderCalls() || isDroppedVote() || !readErr()) return false;
  return pushMessage(index) && pushFees() && pushOutcome(failed, error);
}

function pushListedKeys(): void {
  addKeys(staticKeys, staticCount);
  addKeys(writableKeys, writableCount);
  addKeys(readonlyKeys, readonlyCount);
  endOfListed();
}

function isDroppedVote(): bool {
  if (!dropsVotes || topCount != 1) return false;
  return memory.compare(addressText(programOf(0)), voteProgram, TEXT_BYTES) == 0;
}

/** Reads null or the error of a failed instruction: `{"InstructionError":[n,"Name"]}`, `{"InstructionError":[n,{"Name":m}]}`. */
function readErr(): bool {
  failed = u64.MAX_VALUE;
  error = 0;
  if (!goToValue(F_ERR)) return true;
  const start = at;
  if (!isSame(at, instructionError, 21)) return false;
  moveTo(at + 21);
  if (!readDigits()) return false;
  failed = integer;
  if (!takeNow(0x2c) || !readReason() || !takeNow(0x5d) || !takeNow(0x7d)) return false;
  error = errorTextOf(start, <u32>(at - start), false);
  return error != 0;
}

/** Reads a text, or an object with one member that is a number or a text. */
function readReason(): bool {
  if (load<u8>(at) == 0x22) return skipText();
  if (!takeNow(0x7b) || load<u8>(at) != 0x22) return false;
  // JavaScript moves a key that looks like a number to another position.
  if (<u32>load<u8>(at, 1) - 48 < 10 || !skipText() || !takeNow(0x3a)) return false;
  return (load<u8>(at) == 0x22 ? skipText() : readDigits()) && takeNow(0x7d);
}

/** Like `take`, without white space before it. */
function takeNow(byte: u8): bool {
  return load<u8>(at) == byte && take(byte);
}

/** Reads a number that JavaScript writes unchanged, without white space before it. */
function readDigits(): bool {
  const start = at;
  return <u32>load<u8>(at) - 48 < 10 && readUlong() && at - start <= 15;
}

function pushMessage(index: u32): bool {
  push(TX_INDEX, index);
  push(TX_STATIC_COUNT, staticCount);
  push(TX_WRITABLE_COUNT, writableCount);
  push(TX_READONLY_COUNT, readonlyCount);
  push(TX_SIGNATURE_COUNT, signatureCount);
  const blockhash = goTo(F_RECENT_BLOCKHASH) ? readAddress() : -1;
  if (blockhash < 0) return false;
  push(TX_BLOCKHASH, positionOf(blockhash));
  return pushHeader() && pushLookups() && pushVersion();
}

function pushHeader(): bool {
  if (!goTo(F_HEADER) || !noteMembers(HEADER, LOOKUP)) return false;
  return (
    pushCount(F_REQUIRED_SIGNATURES, TX_REQUIRED_SIGNATURES) &&
    pushCount(F_READONLY_SIGNED, TX_READONLY_SIGNED) &&
    pushCount(F_READONLY_UNSIGNED, TX_READONLY_UNSIGNED)
  );
}

function pushCount(name: i32, column: i32): bool {
  if (!goTo(name) || !readCount(255)) return false;
  push(column, <u32>integer);
  return true;
}

function pushLookups(): bool {
  lookupCount = 0;
  lookupIndexCount = 0;
  if (goToValue(F_LOOKUPS)) {
    if (!take(0x5b)) return false;
    if (!take(0x5d)) {
      do {
        if (!pushLookup()) return false;
      } while (take(0x2c));
      if (!take(0x5d)) return false;
    }
  }
  push(TX_LOOKUP_COUNT, lookupCount);
  // False if the lookups name addresses that the node did not resolve.
  return lookupIndexCount == 0 || writableCount + readonlyCount > 0;
}

function pushLookup(): bool {
  if (!noteMembers(LOOKUP, CALL)) return false;
  const after = at;
  const key = goTo(F_LOOKUP_KEY) ? readAddress() : -1;
  if (key < 0) return false;
  push(LOOKUP_KEY, positionOf(key));
  if (!pushIndexes(F_LOOKUP_READONLY, LOOKUP_READONLY_COUNT)) return false;
  if (!pushIndexes(F_LOOKUP_WRITABLE, LOOKUP_WRITABLE_COUNT)) return false;
  lookupCount++;
  moveTo(after);
  return true;
}

function pushIndexes(name: i32, countColumn: i32): bool {
  if (!goTo(name) || !take(0x5b)) return false;
  let count: u32 = 0;
  if (!take(0x5d)) {
    do {
      if (!readCount(255)) return false;
      push(LOOKUP_INDEXES, <u32>integer);
      count++;
    } while (take(0x2c));
    if (!take(0x5d)) return false;
  }
  push(countColumn, count);
  lookupIndexCount += count;
  return true;
}

/** Stores the version plus one; legacy is 0. Transactions with an unknown version are left to the other reader, which counts them. */
function pushVersion(): bool {
  let version: u32 = lookupCount > 0 ? 1 : 0;
  if (goToValue(F_VERSION)) {
    if (load<u8>(at) == 0x22) {
      // The text is 'legacy', which is compared as two words that overlap.
      if (!readText() || textLength != 6 || load<u32>(textStart) != 0x6167656c || load<u32>(textStart, 2) != 0x79636167) return false;
      version = 0;
    } else {
      if (!readCount(1)) return false;
      version = <u32>integer + 1;
    }
  }
  push(TX_VERSION, version);
  return true;
}

function pushFees(): bool {
  push(TX_ERR, error);
  if (!goTo(F_FEE) || !readUlong()) return false;
  pushLong(TX_FEE, integer);
  push(TX_FEE_NULL, 0);
  const hasUnits = goToValue(F_UNITS);
  if (hasUnits && !readUlong()) return false;
  pushLong(TX_UNITS, hasUnits ? integer : 0);
  push(TX_UNITS_NULL, hasUnits ? 0 : 1);
  return true;
}
