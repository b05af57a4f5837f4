// Signatures and messages of transactions in binary form: the protobuf of `ConfirmedBlock`, and the form that is sent over the network.
import { addressOfKey } from './address-table';
import {
  at, end, field, FIELD, MALFORMED_FIELD, nextField, openBytes, partLength, partStart, readBytes, readShortLength, readShortPart, value,
  WIRE_BYTES, WIRE_VARINT, wireType,
} from './bytes';
import { addCall, beginTopCalls, endTopCalls } from './calls';
import { keepBytes, reserveBytes } from './rows';
import { TX_SIGNATURES } from '../../layout/columns';
import { copyShort } from '../common/copy';

const signatureCountMax: u32 = 256;
const keyCountMax: u32 = 256;
const lookupCountMax: u32 = 64;
const signatureBytes: u32 = 64;
const keyBytes: u32 = 32;

/** Where the signatures start. */
const signatures = memory.data(256 * 4, 4);
export let messageSignatureCount: u32 = 0;
/** Where the static keys start; their addresses after `resolveMessage`. */
export const messageKeys = memory.data(256 * 4, 4);
export let messageKeyCount: u32 = 0;
/** Where the recent block hash starts, or 0; its address after `resolveMessage`. */
export let messageBlockhash: u32 = 0;
export let requiredSignatures: u32 = 0;
export let readonlySigned: u32 = 0;
export let readonlyUnsigned: u32 = 0;
export let isVersioned: bool = false;

/** Lookups: where the key of the table starts, its address after `resolveMessage`, and start and length of the writable and the readonly indexes. */
const lookupBytes: u32 = 20;
export const messageLookups = memory.data(64 * 20, 4);
export let messageLookupCount: u32 = 0;

function beginMessage(): void {
  messageKeyCount = 0;
  messageSignatureCount = 0;
  messageBlockhash = 0;
  requiredSignatures = 0;
  readonlySigned = 0;
  readonlyUnsigned = 0;
  isVersioned = false;
  messageLookupCount = 0;
}

function addSignature(start: usize): bool {
  if (messageSignatureCount == signatureCountMax) return false;
  store<u32>(signatures + (messageSignatureCount++ << 2), <u32>start);
  return true;
}

function addStaticKey(start: usize): bool {
  if (messageKeyCount == keyCountMax) return false;
  store<u32>(messageKeys + (messageKeyCount++ << 2), <u32>start);
  return true;
}

function addLookup(key: usize, writable: usize, writableCount: u32, readonly: usize, readonlyCount: u32): bool {
  if (messageLookupCount == lookupCountMax) return false;
  const entry = messageLookups + messageLookupCount++ * lookupBytes;
  store<u32>(entry, <u32>key);
  store<u32>(entry, <u32>writable, 4);
  store<u32>(entry, writableCount, 8);
  store<u32>(entry, <u32>readonly, 12);
  store<u32>(entry, readonlyCount, 16);
  return true;
}

/** Appends the signatures, and replaces the keys by their addresses. Not done while reading, because votes are usually dropped. */
export function resolveMessage(): bool {
  const position = reserveBytes(TX_SIGNATURES, messageSignatureCount * signatureBytes);
  if (position == 0) return false;
  for (let i: u32 = 0; i < messageSignatureCount; i++) {
    copyShort(position + i * signatureBytes, load<u32>(signatures + (i << 2)), signatureBytes);
  }
  keepBytes(TX_SIGNATURES, messageSignatureCount * signatureBytes);
  for (let i: u32 = 0; i < messageKeyCount; i++) if (!resolveKey(messageKeys + (i << 2))) return false;
  for (let i: u32 = 0; i < messageLookupCount; i++) if (!resolveKey(messageLookups + i * lookupBytes)) return false;
  const blockhash = addressOfKey(messageBlockhash);
  messageBlockhash = <u32>blockhash;
  return blockhash >= 0;
}

function resolveKey(position: usize): bool {
  const address = addressOfKey(load<u32>(position));
  store<u32>(position, <u32>address);
  return address >= 0;
}

/** Reads a transaction as it is sent over the network. */
export function readWireTransaction(start: usize, length: u32): bool {
  beginMessage();
  openBytes(start, start + length);
  if (!readShortLength()) return false;
  for (let left = <u32>value; left > 0; left--) if (!readBytes(signatureBytes) || !addSignature(partStart)) return false;
  if (at == end) return false;
  if ((load<u8>(at) & 0x80) != 0) {
    if (!readBytes(1) || load<u8>(partStart) != 0x80) return false;
    isVersioned = true;
  }
  if (!readBytes(3)) return false;
  requiredSignatures = load<u8>(partStart);
  readonlySigned = load<u8>(partStart, 1);
  readonlyUnsigned = load<u8>(partStart, 2);
  if (!readShortLength()) return false;
  for (let left = <u32>value; left > 0; left--) if (!readBytes(keyBytes) || !addStaticKey(partStart)) return false;
  if (!readBytes(keyBytes)) return false;
  messageBlockhash = <u32>partStart;
  if (!readWireCalls()) return false;
  return (!isVersioned || readWireLookups()) && at == end;
}

function readWireCalls(): bool {
  if (!readShortLength()) return false;
  beginTopCalls();
  for (let left = <u32>value; left > 0; left--) {
    if (!readBytes(1)) return false;
    const program = <u32>load<u8>(partStart);
    if (!readShortPart()) return false;
    const accounts = partStart;
    const accountCount = partLength;
    if (!readShortPart() || !addCall(program, accounts, accountCount, partStart, partLength, 0)) return false;
  }
  endTopCalls();
  return true;
}

function readWireLookups(): bool {
  if (!readShortLength()) return false;
  for (let left = <u32>value; left > 0; left--) {
    if (!readBytes(keyBytes)) return false;
    const key = partStart;
    if (!readShortPart()) return false;
    const writable = partStart;
    const writableCount = partLength;
    if (!readShortPart() || !addLookup(key, writable, writableCount, partStart, partLength)) return false;
  }
  return true;
}

/** Reads the protobuf of a transaction: signatures and a message. */
export function readProtobufTransaction(start: usize, length: u32): bool {
  beginMessage();
  const stop = start + length;
  openBytes(start, stop);
  let hasMessage = false;
  while (true) {
    const found = nextField();
    if (found != FIELD) return found != MALFORMED_FIELD && hasMessage;
    if (field > 2) continue;
    if (wireType != WIRE_BYTES) return false;
    if (field == 1) {
      if (partLength != signatureBytes || !addSignature(partStart)) return false;
      continue;
    }
    const resume = at;
    if (hasMessage || !readMessage(partStart, partLength)) return false;
    hasMessage = true;
    openBytes(resume, stop);
  }
}

function readMessage(start: usize, length: u32): bool {
  const stop = start + length;
  openBytes(start, stop);
  beginTopCalls();
  let hasHeader = false;
  while (true) {
    const found = nextField();
    if (found != FIELD) {
      endTopCalls();
      return found != MALFORMED_FIELD && messageBlockhash != 0;
    }
    if (field > 6) continue;
    if (field == 5) {
      if (wireType != WIRE_VARINT) return false;
      isVersioned = value != 0;
      continue;
    }
    if (wireType != WIRE_BYTES) return false;
    const resume = at;
    if (field == 2 || field == 3) {
      if (partLength != keyBytes) return false;
      if (field == 2) {
        if (!addStaticKey(partStart) || !readMoreKeys()) return false;
      } else {
        if (messageBlockhash != 0) return false;
        messageBlockhash = <u32>partStart;
      }
      continue;
    }
    if (field == 1) {
      if (hasHeader || !readHeader(partStart, partLength)) return false;
      hasHeader = true;
    } else if (!(field == 4 ? readCall(partStart, partLength, false) : readLookup(partStart, partLength))) {
      return false;
    }
    openBytes(resume, stop);
  }
}

/** Reads the keys directly after a key: each is a tag, a length, and 32 bytes. */
function readMoreKeys(): bool {
  const size: usize = 2 + keyBytes;
  while (<usize>(end - at) >= size && load<u16>(at) == 0x2012) {
    if (!addStaticKey(at + 2)) return false;
    openBytes(at + size, end);
  }
  return true;
}

function readHeader(start: usize, length: u32): bool {
  openBytes(start, start + length);
  while (true) {
    const found = nextField();
    if (found != FIELD) return found != MALFORMED_FIELD;
    if (field > 3) continue;
    if (wireType != WIRE_VARINT || value > 255) return false;
    if (field == 1) requiredSignatures = <u32>value;
    else if (field == 2) readonlySigned = <u32>value;
    else readonlyUnsigned = <u32>value;
  }
}

/** Reads a call. Only inner calls have a height. */
export function readCall(start: usize, length: u32, isInner: bool): bool {
  openBytes(start, start + length);
  let program: u64 = 0;
  let accounts: usize = start;
  let accountCount: u32 = 0;
  let data: usize = start;
  let dataLength: u32 = 0;
  let height: u64 = 0;
  while (true) {
    const found = nextField();
    if (found != FIELD) {
      if (found == MALFORMED_FIELD || program > 0xffff) return false;
      return addCall(<u32>program, accounts, accountCount, data, dataLength, <u32>height);
    }
    if (field > 4) continue;
    if (wireType != (field == 1 || field == 4 ? WIRE_VARINT : WIRE_BYTES)) return false;
    if (field == 1) {
      program = value;
    } else if (field == 2) {
      accounts = partStart;
      accountCount = partLength;
    } else if (field == 3) {
      data = partStart;
      dataLength = partLength;
    } else {
      if (!isInner || value == 0 || value > 64) return false;
      height = value;
    }
  }
}

function readLookup(start: usize, length: u32): bool {
  openBytes(start, start + length);
  let key: usize = 0;
  let writable: usize = start;
  let writableCount: u32 = 0;
  let readonly: usize = start;
  let readonlyCount: u32 = 0;
  while (true) {
    const found = nextField();
    if (found != FIELD) {
      return found != MALFORMED_FIELD && key != 0 && addLookup(key, writable, writableCount, readonly, readonlyCount);
    }
    if (field > 3) continue;
    if (wireType != WIRE_BYTES) return false;
    if (field == 1) {
      if (partLength != keyBytes) return false;
      key = partStart;
    } else if (field == 2) {
      writable = partStart;
      writableCount = partLength;
    } else {
      readonly = partStart;
      readonlyCount = partLength;
    }
  }
}
