// The keys of a transaction's JSON that the kernel reads, by the object that contains them.
import { at, end, keyLength, keyStart, moveTo, readKey } from '../common/json';

export const ENTRY: i32 = 0;
export const F_TRANSACTION: i32 = 0;
export const F_META: i32 = 1;
export const F_VERSION: i32 = 2;
export const TRANSACTION: i32 = 3;
export const F_SIGNATURES: i32 = 3;
export const F_MESSAGE: i32 = 4;
export const MESSAGE: i32 = 5;
export const F_ACCOUNT_KEYS: i32 = 5;
export const F_HEADER: i32 = 6;
export const F_INSTRUCTIONS: i32 = 7;
export const F_RECENT_BLOCKHASH: i32 = 8;
export const F_LOOKUPS: i32 = 9;
export const META: i32 = 10;
export const F_ERR: i32 = 10;
export const F_FEE: i32 = 11;
export const F_PRE_BALANCES: i32 = 12;
export const F_POST_BALANCES: i32 = 13;
export const F_INNER: i32 = 14;
export const F_LOG: i32 = 15;
export const F_PRE_TOKENS: i32 = 16;
export const F_POST_TOKENS: i32 = 17;
export const F_LOADED: i32 = 18;
export const F_UNITS: i32 = 19;
export const LOADED: i32 = 20;
export const F_LOADED_READONLY: i32 = 20;
export const F_LOADED_WRITABLE: i32 = 21;
export const HEADER: i32 = 22;
export const F_REQUIRED_SIGNATURES: i32 = 22;
export const F_READONLY_SIGNED: i32 = 23;
export const F_READONLY_UNSIGNED: i32 = 24;
export const LOOKUP: i32 = 25;
export const F_LOOKUP_KEY: i32 = 25;
export const F_LOOKUP_READONLY: i32 = 26;
export const F_LOOKUP_WRITABLE: i32 = 27;
export const CALL: i32 = 28;
export const F_PROGRAM_INDEX: i32 = 28;
export const F_ACCOUNTS: i32 = 29;
export const F_DATA: i32 = 30;
export const F_STACK_HEIGHT: i32 = 31;
export const GROUP: i32 = 32;
export const F_GROUP_INDEX: i32 = 32;
export const F_GROUP_CALLS: i32 = 33;
export const TOKEN: i32 = 34;
export const F_TOKEN_ACCOUNT: i32 = 34;
export const F_TOKEN_MINT: i32 = 35;
export const F_TOKEN_OWNER: i32 = 36;
export const F_TOKEN_PROGRAM: i32 = 37;
export const F_TOKEN_AMOUNT: i32 = 38;
export const AMOUNT: i32 = 39;
export const F_AMOUNT: i32 = 39;
export const F_DECIMALS: i32 = 40;
/** This key is always present, but its value is not stored. */
export const F_UI_AMOUNT: i32 = 41;
export const F_UI_AMOUNT_STRING: i32 = 42;
export const NAME_COUNT: i32 = 43;
/** Results of `readName`: the key is not one of the names, or there is no valid key. */
export const UNKNOWN: i32 = -1;
export const MALFORMED: i32 = -2;

/** A name with quotes and colon, as nodes write it: its text, a mask of its first 16 bytes, and its length. */
const entryBytes: i32 = 80;
const maskOffset: usize = 48;
const lengthOffset: usize = 64;
const names = memory.data(NAME_COUNT * 80, 16);
/** For each name, the name that followed it last time. The entry of an object's first name is used at its start. */
const followers = memory.data(NAME_COUNT * 4, 4);
const beginnings = memory.data(NAME_COUNT * 4, 4);

function define(name: i32, text: string): void {
  const entry = names + <usize>(name * entryBytes);
  const length = text.length + 3;
  store<u8>(entry, 0x22);
  for (let i = 0; i < text.length; i++) store<u8>(entry + 1 + <usize>i, <u8>text.charCodeAt(i));
  store<u16>(entry + 1 + <usize>text.length, 0x3a22);
  for (let i = 0; i < min(length, 16); i++) store<u8>(entry + maskOffset + <usize>i, 0xff);
  store<u32>(entry, length, lengthOffset);
}

export function defineNames(): void {
  define(F_TRANSACTION, 'transaction');
  define(F_META, 'meta');
  define(F_VERSION, 'version');
  define(F_SIGNATURES, 'signatures');
  define(F_MESSAGE, 'message');
  define(F_ACCOUNT_KEYS, 'accountKeys');
  define(F_HEADER, 'header');
  define(F_INSTRUCTIONS, 'instructions');
  define(F_RECENT_BLOCKHASH, 'recentBlockhash');
  define(F_LOOKUPS, 'addressTableLookups');
  define(F_ERR, 'err');
  define(F_FEE, 'fee');
  define(F_PRE_BALANCES, 'preBalances');
  define(F_POST_BALANCES, 'postBalances');
  define(F_INNER, 'innerInstructions');
  define(F_LOG, 'logMessages');
  define(F_PRE_TOKENS, 'preTokenBalances');
  define(F_POST_TOKENS, 'postTokenBalances');
  define(F_LOADED, 'loadedAddresses');
  define(F_UNITS, 'computeUnitsConsumed');
  define(F_LOADED_READONLY, 'readonly');
  define(F_LOADED_WRITABLE, 'writable');
  define(F_REQUIRED_SIGNATURES, 'numRequiredSignatures');
  define(F_READONLY_SIGNED, 'numReadonlySignedAccounts');
  define(F_READONLY_UNSIGNED, 'numReadonlyUnsignedAccounts');
  define(F_LOOKUP_KEY, 'accountKey');
  define(F_LOOKUP_READONLY, 'readonlyIndexes');
  define(F_LOOKUP_WRITABLE, 'writableIndexes');
  define(F_PROGRAM_INDEX, 'programIdIndex');
  define(F_ACCOUNTS, 'accounts');
  define(F_DATA, 'data');
  define(F_STACK_HEIGHT, 'stackHeight');
  define(F_GROUP_INDEX, 'index');
  define(F_GROUP_CALLS, 'instructions');
  define(F_TOKEN_ACCOUNT, 'accountIndex');
  define(F_TOKEN_MINT, 'mint');
  define(F_TOKEN_OWNER, 'owner');
  define(F_TOKEN_PROGRAM, 'programId');
  define(F_TOKEN_AMOUNT, 'uiTokenAmount');
  define(F_AMOUNT, 'amount');
  define(F_DECIMALS, 'decimals');
  define(F_UI_AMOUNT, 'uiAmount');
  define(F_UI_AMOUNT_STRING, 'uiAmountString');
}

/**
 * Reads a key of an object whose names are from `first` up to `last` (exclusive), and returns its name. `before` is the name that was read
 * before it, or less than `first` at the start of the object. Nodes write keys in a fixed order, so the key is first compared with the one
 * that followed last time.
 */
// @ts-ignore: decorator
@inline
export function readName(first: i32, last: i32, before: i32): i32 {
  const follower = before >= first ? followers + ((<usize>before) << 2) : beginnings + ((<usize>first) << 2);
  const expected = load<i32>(follower);
  return expected >= first && expected < last && isHere(expected) ? takeName(expected) : findKey(first, last, follower);
}

// @ts-ignore: decorator
@inline
function takeName(name: i32): i32 {
  moveTo(at + <usize>load<u32>(names + <usize>(name * entryBytes), lengthOffset));
  return name;
}

// @ts-ignore: decorator
@inline
function isHere(name: i32): bool {
  const entry = names + <usize>(name * entryBytes);
  const length = <usize>load<u32>(entry, lengthOffset);
  const isBegun = i8x16.eq(v128.and(v128.load(at), v128.load(entry, maskOffset)), v128.and(v128.load(entry), v128.load(entry, maskOffset)));
  if (!i8x16.all_true(isBegun) || at + length > end) return false;
  if (length <= 16) return true;
  return i8x16.all_true(i8x16.eq(v128.load(at + length - 16), v128.load(entry + length - 16)));
}

function findKey(first: i32, last: i32, follower: usize): i32 {
  if (!readKey()) return MALFORMED;
  for (let name = first; name < last; name++) {
    const entry = names + <usize>(name * entryBytes);
    const length = load<u32>(entry, lengthOffset) - 3;
    if (length == <u32>keyLength && isSame(keyStart, entry + 1, length)) {
      store<i32>(follower, name);
      return name;
    }
  }
  return UNKNOWN;
}

/** For lengths from 8 to 32, compares words from both ends, which may overlap. */
export function isSame(a: usize, b: usize, length: u32): bool {
  if (length >= 16) {
    if (length > 32) return memory.compare(a, b, length) == 0;
    const last = <usize>(length - 16);
    const isEqual = v128.and(
      i8x16.eq(v128.load(a), v128.load(b)),
      i8x16.eq(v128.load(a + last), v128.load(b + last)),
    );
    return i8x16.all_true(isEqual);
  }
  if (length >= 8) {
    const last = <usize>(length - 8);
    return load<u64>(a) == load<u64>(b) && load<u64>(a + last) == load<u64>(b + last);
  }
  for (let i: u32 = 0; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}
