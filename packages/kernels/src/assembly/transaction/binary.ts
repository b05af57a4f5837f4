// Converts transactions in binary form to rows: those of a `ConfirmedBlock` protobuf, and the nodes of an archive, whose metadata is
// compressed. The rows are the same as those of the JSON of the same transaction.
import {
  isVersioned, messageBlockhash, messageKeyCount, messageKeys, messageLookupCount, messageLookups, messageSignatureCount,
  readonlySigned, readonlyUnsigned, readProtobufTransaction, readWireTransaction, requiredSignatures, resolveMessage,
} from './binary-message';
import {
  BINARY_META_BYTES, errorLength, errorStart, hasMetaUnits, loadedReadonly, loadedReadonlyCount, loadedWritable, loadedWritableCount,
  metaFee, metaUnits, placeBinaryMeta, readMeta,
} from './binary-meta';
import { at, end, field, FIELD, MALFORMED_FIELD, nextField, openBytes, partLength, partStart, readBytes, readCborHead, value, WIRE_BYTES, wireType } from './bytes';
import { beginCalls, orderCalls, topCount, topProgram } from './calls';
import { errorTextOf } from './error-texts';
import { beginKeys, endOfListed, positionOf } from './key-list';
import { beginLog, lineCount } from './log-walk';
import { addKeys, pushOutcome } from './outcome';
import { push, pushLong } from './rows';
import {
  LOOKUP_INDEXES, LOOKUP_KEY, LOOKUP_READONLY_COUNT, LOOKUP_WRITABLE_COUNT, TX_BLOCKHASH, TX_ERR, TX_FEE, TX_FEE_NULL, TX_INDEX,
  TX_LOOKUP_COUNT, TX_READONLY_COUNT, TX_READONLY_SIGNED, TX_READONLY_UNSIGNED, TX_REQUIRED_SIGNATURES, TX_SIGNATURE_COUNT,
  TX_STATIC_COUNT, TX_UNITS, TX_UNITS_NULL, TX_VERSION, TX_WRITABLE_COUNT,
} from '../../layout/columns';
import { ERROR_NAME_BYTES, ZSTD_SLACK_BYTES } from '../../layout/reading';
import { base58Decode } from '../common/base58-decode';
import { voteProgram, voteProgramLength } from '../common/vote';
import { placeZstd, ZSTD_BYTES, zstdDecode } from '../common/zstd';

/** More than the metadata of any real transaction. */
const metaBytesMax: u32 = 1 << 20;
const instructionErrorNumber: u32 = 8;
const customNumber: u32 = 25;
const borshNumber: u32 = 44;
const errorTextMax: u32 = 64;
const errorNameCountMax: u32 = 128;

/** Results of `readBinary`. */
export const NOT_TAKEN: i32 = 0;
export const TAKEN: i32 = 1;
export const DROPPED_VOTE: i32 = 2;

let unpacked: usize = 0;
/** The names of instruction errors, each after its length. The caller stores them once. */
export const errorNames = memory.data(128 * 64, 16);
export let errorNameCount: u32 = 0;
const errorText = memory.data(256, 16);
/** Larger than a key, because `base58Decode` may write beyond it. */
const voteKey = memory.data(64, 16);

export function setErrorNameCount(count: u32): void {
  errorNameCount = min(count, errorNameCountMax);
}

export const BINARY_BYTES: u32 = ZSTD_BYTES + BINARY_META_BYTES + metaBytesMax + ZSTD_SLACK_BYTES + 128;

export function placeBinary(base: usize): void {
  const meta = (base + ZSTD_BYTES + 63) & ~63;
  unpacked = (meta + BINARY_META_BYTES + 63) & ~63;
  placeZstd(base);
  placeBinaryMeta(meta);
}

/** Starts a block. */
export function beginBinary(): void {
  base58Decode(voteProgram, voteProgramLength, voteKey);
}

function begin(): void {
  beginKeys();
  beginCalls(true);
  beginLog();
}

/** Reads a `ConfirmedTransaction`: a transaction and its metadata. */
export function readConfirmed(start: usize, length: u32, index: u32, dropsVotes: bool): i32 {
  begin();
  openBytes(start, start + length);
  let transaction: usize = 0;
  let transactionLength: u32 = 0;
  let meta: usize = 0;
  let metaLength: u32 = 0;
  while (true) {
    const found = nextField();
    if (found == MALFORMED_FIELD) return NOT_TAKEN;
    if (found != FIELD) break;
    if (field > 2) continue;
    if (wireType != WIRE_BYTES || (field == 1 ? transaction : meta) != 0) return NOT_TAKEN;
    if (field == 1) {
      transaction = partStart;
      transactionLength = partLength;
    } else {
      meta = partStart;
      metaLength = partLength;
    }
  }
  if (transaction == 0 || !readProtobufTransaction(transaction, transactionLength)) return NOT_TAKEN;
  if (dropsVotes && isVote()) return DROPPED_VOTE;
  return meta != 0 && resolveMessage() && readMeta(meta, metaLength) && pushRows(index) ? TAKEN : NOT_TAKEN;
}

/** Reads a transaction node of an archive, whose data and metadata are single frames. */
export function readNode(start: usize, length: u32, index: u32, slot: u64, dropsVotes: bool): i32 {
  begin();
  openBytes(start, start + length);
  if (!readCborHead(4) || value < 4 || value > 5) return NOT_TAKEN;
  const count = value;
  if (!readCborHead(0) || value != 0 || !readFrame()) return NOT_TAKEN;
  const transaction = partStart;
  const transactionLength = partLength;
  if (!readFrame()) return NOT_TAKEN;
  const meta = partStart;
  const metaLength = partLength;
  if (!readCborHead(0) || value != slot) return NOT_TAKEN;
  if (count == 5 && !takeNull() && (!readCborHead(0) || value != <u64>index)) return NOT_TAKEN;
  if (at != end || !readWireTransaction(transaction, transactionLength)) return NOT_TAKEN;
  if (dropsVotes && isVote()) return DROPPED_VOTE;
  const metaBytes = zstdDecode(meta, metaLength, unpacked, metaBytesMax);
  // The older form of metadata begins with 0 or 1.
  if (metaBytes < 1 || load<u8>(unpacked) < 2) return NOT_TAKEN;
  return resolveMessage() && readMeta(unpacked, <u32>metaBytes) && pushRows(index) ? TAKEN : NOT_TAKEN;
}

/** Reads a frame without checksum, index and total, and without frames after it. */
function readFrame(): bool {
  if (!readCborHead(4) || value < 5 || value > 6) return false;
  const count = value;
  if (!readCborHead(0) || value != 6 || !takeNull() || !takeNull() || !takeNull()) return false;
  if (!readCborHead(2) || value > 0xffffffff || !readBytes(<u32>value)) return false;
  if (count == 5 || takeNull()) return true;
  return readCborHead(4) && value == 0;
}

function takeNull(): bool {
  if (at == end || load<u8>(at) != 0xf6) return false;
  openBytes(at + 1, end);
  return true;
}

function isVote(): bool {
  if (topCount != 1) return false;
  const program = topProgram();
  if (program >= messageKeyCount) return false;
  const key = load<u32>(messageKeys + (program << 2));
  const isSame = v128.and(i8x16.eq(v128.load(key), v128.load(voteKey)), i8x16.eq(v128.load(key, 16), v128.load(voteKey, 16)));
  return i8x16.all_true(isSame);
}

function pushRows(index: u32): bool {
  if (messageKeyCount == 0 || topCount < 1 || lineCount < 1) return false;
  addKeys(messageKeys, messageKeyCount);
  addKeys(loadedWritable, loadedWritableCount);
  addKeys(loadedReadonly, loadedReadonlyCount);
  endOfListed();
  if (!orderCalls() || !readErr()) return false;
  pushMessage(index);
  if (!pushLookups()) return false;
  pushFees();
  return pushOutcome(failed, error);
}

let failed: u64 = 0;
let error: u32 = 0;

/** Reads the error of a failed instruction in bincode. Other errors are left to the other reader. */
function readErr(): bool {
  failed = u64.MAX_VALUE;
  error = 0;
  if (errorLength == 0) return true;
  if (errorLength < 9 || load<u32>(errorStart) != instructionErrorNumber) return false;
  failed = load<u8>(errorStart, 4);
  const number = load<u32>(errorStart, 5);
  const hasText = number == borshNumber && errorLength > 9;
  if (number >= errorNameCount || (!hasText && errorLength != (number == customNumber ? 13 : 9))) return false;
  const hasValue = hasText || number == customNumber;
  // '{"InstructionError":[' in three words that overlap
  store<u64>(errorText, 0x757274736e49227b);
  store<u64>(errorText, 0x7272456e6f697463, 8);
  store<u64>(errorText, 0x5b3a22726f727245, 13);
  let position = writeDecimal(errorText + 21, <u32>failed);
  store<u8>(position++, 0x2c);
  if (hasValue) store<u8>(position++, 0x7b);
  store<u8>(position++, 0x22);
  const name = errorNames + number * <u32>ERROR_NAME_BYTES;
  const length = <u32>load<u8>(name);
  memory.copy(position, name + 1, length);
  position += length;
  store<u8>(position++, 0x22);
  if (hasValue) {
    store<u8>(position++, 0x3a);
    position = hasText ? writeErrorText(position) : writeDecimal(position, load<u32>(errorStart, 9));
    if (position == 0) return false;
    store<u8>(position++, 0x7d);
  }
  store<u16>(position, 0x7d5d);
  error = errorTextOf(errorText, <u32>(position + 2 - errorText), false);
  return error != 0;
}

/** Writes the text of an error, or returns 0 if it is long or has characters that are not plain. */
function writeErrorText(position: usize): usize {
  const length = <u32>load<u64>(errorStart, 9);
  if (errorLength < 17 || load<u64>(errorStart, 9) != <u64>(errorLength - 17) || length > errorTextMax) return 0;
  store<u8>(position++, 0x22);
  for (let i: u32 = 0; i < length; i++) {
    const byte = load<u8>(errorStart + 17 + i);
    if (byte < 0x20 || byte > 0x7e || byte == 0x22 || byte == 0x5c) return 0;
    store<u8>(position++, byte);
  }
  store<u8>(position++, 0x22);
  return position;
}

function writeDecimal(position: usize, number: u32): usize {
  let digits: u32 = 1;
  for (let rest = number / 10; rest > 0; rest /= 10) digits++;
  const stop = position + digits;
  for (let out = stop - 1; out >= position; out--, number /= 10) store<u8>(out, 48 + (number % 10));
  return stop;
}

function pushMessage(index: u32): void {
  push(TX_INDEX, index);
  push(TX_STATIC_COUNT, messageKeyCount);
  push(TX_WRITABLE_COUNT, loadedWritableCount);
  push(TX_READONLY_COUNT, loadedReadonlyCount);
  push(TX_SIGNATURE_COUNT, messageSignatureCount);
  push(TX_BLOCKHASH, positionOf(messageBlockhash));
  push(TX_REQUIRED_SIGNATURES, requiredSignatures);
  push(TX_READONLY_SIGNED, readonlySigned);
  push(TX_READONLY_UNSIGNED, readonlyUnsigned);
  push(TX_VERSION, isVersioned ? 1 : 0);
}

function pushLookups(): bool {
  let indexCount: u32 = 0;
  for (let i: u32 = 0; i < messageLookupCount; i++) {
    const entry = messageLookups + i * 20;
    push(LOOKUP_KEY, positionOf(load<u32>(entry)));
    const writableCount = load<u32>(entry, 8);
    const readonlyCount = load<u32>(entry, 16);
    pushIndexes(load<u32>(entry, 12), readonlyCount);
    pushIndexes(load<u32>(entry, 4), writableCount);
    push(LOOKUP_READONLY_COUNT, readonlyCount);
    push(LOOKUP_WRITABLE_COUNT, writableCount);
    indexCount += writableCount + readonlyCount;
  }
  push(TX_LOOKUP_COUNT, messageLookupCount);
  // False if the lookups name addresses that the node did not resolve.
  return indexCount == 0 || loadedWritableCount + loadedReadonlyCount > 0;
}

function pushIndexes(start: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) push(LOOKUP_INDEXES, load<u8>(start + i));
}

function pushFees(): void {
  push(TX_ERR, error);
  pushLong(TX_FEE, metaFee);
  push(TX_FEE_NULL, 0);
  pushLong(TX_UNITS, metaUnits);
  push(TX_UNITS_NULL, hasMetaUnits ? 0 : 1);
}
