// Determines from the JSON of one transaction whether it is a vote, so that votes, most of a ledger, can be dropped without parsing. It
// reads the JSON strictly to its end: a vote is valid JSON without escapes, with one top-level instruction of the vote program. Everything
// else is left to `JSON.parse`.
// 
//   { "transaction": { "message": { "accountKeys": […], "instructions": [ { "programIdIndex": n, … } ], … }, … }, … }

import { at, end, keyLength, keyStart, openJson, readKey, skipDigits, skipSpace, skipText, skipValue, take } from './json';

const keyCountMax: i32 = 256;
const none: i32 = -1;

/** The start of each account key's text. */
const keyStarts = memory.data(256 * 4, 4);
/** The text of the vote program, padded with zeros. The caller stores it once. */
export const voteProgram = memory.data(48, 16);
export const voteProgramLength: i32 = 43;

let keyCount: i32 = none;
let instructionCount: i32 = none;
let programIndex: i32 = none;
let messageCount: i32 = 0;
let transactionCount: i32 = 0;

/** 'transact' + 'ion' */
function isTransactionKey(): bool {
  return (
    keyLength == 11 &&
    load<u64>(keyStart) == 0x74636173_6e617274 &&
    load<u16>(keyStart, 8) == 0x6f69 &&
    load<u8>(keyStart, 10) == 0x6e
  );
}

/** 'mess' + 'age' */
function isMessageKey(): bool {
  return (
    keyLength == 7 &&
    load<u32>(keyStart) == 0x7373656d &&
    load<u16>(keyStart, 4) == 0x6761 &&
    load<u8>(keyStart, 6) == 0x65
  );
}

/** 'accountK' + 'eys' */
function isAccountKeysKey(): bool {
  return (
    keyLength == 11 &&
    load<u64>(keyStart) == 0x4b746e75_6f636361 &&
    load<u16>(keyStart, 8) == 0x7965 &&
    load<u8>(keyStart, 10) == 0x73
  );
}

/** 'instruct' + 'ions' */
function isInstructionsKey(): bool {
  return (
    keyLength == 12 &&
    load<u64>(keyStart) == 0x74637572_74736e69 &&
    load<u32>(keyStart, 8) == 0x736e6f69
  );
}

/** 'programI' + 'dIndex' */
function isProgramIndexKey(): bool {
  return (
    keyLength == 14 &&
    load<u64>(keyStart) == 0x496d6172_676f7270 &&
    load<u32>(keyStart, 8) == 0x646e4964 &&
    load<u16>(keyStart, 12) == 0x7865
  );
}

function readAccountKeys(): bool {
  if (keyCount != none || !take(0x5b)) return false;
  keyCount = 0;
  if (take(0x5d)) return true;
  do {
    skipSpace();
    if (keyCount == keyCountMax) return false;
    store<u32>(keyStarts + ((keyCount as usize) << 2), (at + 1) as u32);
    keyCount++;
    if (!skipText()) return false;
  } while (take(0x2c));
  return take(0x5d);
}

function readProgramIndex(): bool {
  skipSpace();
  if (programIndex != none) return false;
  const start = at;
  if (!skipDigits() || at - start > 3 || (at - start > 1 && load<u8>(start) == 0x30)) return false;
  programIndex = 0;
  for (let position = start; position < at; position++) {
    programIndex = programIndex * 10 + ((load<u8>(position) - 0x30) as i32);
  }
  return true;
}

function readInstructions(): bool {
  if (instructionCount != none || !take(0x5b)) return false;
  instructionCount = 1;
  if (!take(0x7b)) return false;
  do {
    if (!readKey()) return false;
    if (isProgramIndexKey() ? !readProgramIndex() : !skipValue()) return false;
  } while (take(0x2c));
  // A second instruction would follow instead of the end of the list.
  return take(0x7d) && take(0x5d);
}

function readMessage(): bool {
  if (messageCount++ > 0 || !take(0x7b)) return false;
  do {
    if (!readKey()) return false;
    const isRead = isAccountKeysKey()
      ? readAccountKeys()
      : isInstructionsKey()
        ? readInstructions()
        : skipValue();
    if (!isRead) return false;
  } while (take(0x2c));
  return take(0x7d);
}

function readTransaction(): bool {
  if (transactionCount++ > 0 || !take(0x7b)) return false;
  do {
    if (!readKey()) return false;
    if (isMessageKey() ? !readMessage() : !skipValue()) return false;
  } while (take(0x2c));
  return take(0x7d);
}

function readEntry(): bool {
  if (!take(0x7b)) return false;
  do {
    if (!readKey()) return false;
    if (isTransactionKey() ? !readTransaction() : !skipValue()) return false;
  } while (take(0x2c));
  if (!take(0x7d)) return false;
  skipSpace();
  return at == end;
}

function isVoteProgram(start: usize): bool {
  for (let i: i32 = 0; i < voteProgramLength; i++) {
    if (load<u8>(start + (i as usize)) != load<u8>(voteProgram + (i as usize))) return false;
  }
  return load<u8>(start + (voteProgramLength as usize)) == 0x22;
}

/** Returns whether the `length` bytes at `start` are certainly a vote. `length` is at most `VOTE_BYTES_MAX`. */
export function isSurelyVote(start: usize, length: u32): bool {
  openJson(start, length);
  keyCount = none;
  instructionCount = none;
  programIndex = none;
  messageCount = 0;
  transactionCount = 0;
  if (!readEntry()) return false;
  if (instructionCount != 1 || programIndex == none || programIndex >= keyCount) return false;
  return isVoteProgram(load<u32>(keyStarts + ((programIndex as usize) << 2)));
}
