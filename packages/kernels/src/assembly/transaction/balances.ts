// Native and token balances of the current transaction before and after it: read in the order of the JSON, then appended in the order of
// their accounts' texts.
import { compareAddresses, readAddress } from './address-table';
import { at, integer, moveTo, readCount, readUlong, skipSpace, skipValue, take, takeNull } from '../common/json';
import { keyAt, listedKeyCount, positionOf } from './key-list';
import { AMOUNT, F_AMOUNT, F_DECIMALS, F_TOKEN_ACCOUNT, F_TOKEN_AMOUNT, F_TOKEN_MINT, F_TOKEN_OWNER, F_TOKEN_PROGRAM, MALFORMED, NAME_COUNT, readName, TOKEN } from './names';
import {
  BAL_ACCOUNT, BAL_CHANGE, BAL_PRE, TOK_ACCOUNT, TOK_AMOUNT_NULL, TOK_CHANGE, TOK_POST_DECIMALS, TOK_POST_MINT,
  TOK_POST_OWNER, TOK_POST_PROGRAM, TOK_PRE_AMOUNT, TOK_PRE_DECIMALS, TOK_PRE_MINT, TOK_PRE_OWNER, TOK_PRE_PROGRAM,
} from '../../layout/columns';
import { push, pushLong } from './rows';

const balanceCountMax: u32 = 512;
const tokenCountMax: u32 = 512;

// One side of a token balance, 32 bytes. An address is stored plus one, and 0 means none.
const sideBytes: u32 = 32;
const mintOffset: usize = 4;
const ownerOffset: usize = 8;
const programOffset: usize = 12;
const decimalsOffset: usize = 16;
const amountOffset: usize = 24;

const rowBytes: u32 = 12;

let pre: usize = 0;
let post: usize = 0;
let preSides: usize = 0;
let postSides: usize = 0;
/** The rows to sort: the address of an account and its values; for a token account the positions of its sides, or 0. */
let rows: usize = 0;
let rowCount: u32 = 0;

export const BALANCES_BYTES: u32 = balanceCountMax * 16 + tokenCountMax * 2 * (sideBytes + rowBytes);

export function placeBalances(base: usize): void {
  pre = base;
  post = pre + balanceCountMax * 8;
  preSides = post + balanceCountMax * 8;
  postSides = preSides + tokenCountMax * sideBytes;
  rows = postSides + tokenCountMax * sideBytes;
}

export let preCount: i32 = -1;
export let postCount: i32 = -1;
let preTokenCount: u32 = 0;
let postTokenCount: u32 = 0;

export function beginBalances(): void {
  preCount = -1;
  postCount = -1;
  preTokenCount = 0;
  postTokenCount = 0;
}

/** Starts lists of a binary form, in which a missing list is empty. */
export function beginBinaryBalances(): void {
  beginBalances();
  preCount = 0;
  postCount = 0;
}

export function addAmount(isPost: bool, amount: u64): bool {
  const count = isPost ? postCount++ : preCount++;
  if (<u32>count >= balanceCountMax) return false;
  store<u64>((isPost ? post : pre) + (<usize>count << 3), amount);
  return true;
}

/** Adds one side of a token balance. An owner or program of -1 is unknown. Returns false if the account has one already. */
export function addSide(isPost: bool, account: u32, mint: i32, owner: i32, program: i32, decimals: u32, amount: u64): bool {
  const count = isPost ? postTokenCount++ : preTokenCount++;
  if (count >= tokenCountMax) return false;
  const sides = isPost ? postSides : preSides;
  const side = sides + count * sideBytes;
  store<u32>(side, account);
  store<u32>(side, <u32>(mint + 1), mintOffset);
  store<u32>(side, <u32>(owner + 1), ownerOffset);
  store<u32>(side, <u32>(program + 1), programOffset);
  store<u32>(side, decimals, decimalsOffset);
  store<u64>(side, amount, amountOffset);
  return sortLastSide(sides, side);
}

/** Moves the last side of a list to its position in the order of the keys. Returns false if its account is there already. */
function sortLastSide(first: usize, last: usize): bool {
  const account = load<u32>(last);
  let position = last;
  while (position > first && load<u32>(position - sideBytes) > account) position -= sideBytes;
  if (position > first && load<u32>(position - sideBytes) == account) return false;
  if (position == last) return true;
  const low = v128.load(last);
  const high = v128.load(last, 16);
  // A call of `memory.copy` would take longer for the few sides of a transaction.
  for (let side = last; side > position; side -= sideBytes) {
    v128.store(side, v128.load(side - sideBytes));
    v128.store(side, v128.load(side - sideBytes, 16), 16);
  }
  v128.store(position, low);
  v128.store(position, high, 16);
  return true;
}

export function readPreBalances(): bool {
  preCount = readAmounts(pre);
  return preCount >= 0;
}

export function readPostBalances(): bool {
  postCount = readAmounts(post);
  return postCount >= 0;
}

/** Returns the number of amounts, or -1 if the value is not a list of amounts. */
function readAmounts(out: usize): i32 {
  if (!take(0x5b)) return -1;
  if (take(0x5d)) return 0;
  let count: u32 = 0;
  do {
    if (count == balanceCountMax || !readUlong()) return -1;
    store<u64>(out + (count++ << 3), integer);
  } while (take(0x2c));
  return take(0x5d) ? <i32>count : -1;
}

export function readPreTokens(): bool {
  const count = readSides(preSides);
  preTokenCount = <u32>count;
  return count >= 0;
}

export function readPostTokens(): bool {
  const count = readSides(postSides);
  postTokenCount = <u32>count;
  return count >= 0;
}

/** Reads one list. */
function readSides(out: usize): i32 {
  if (takeNull()) return 0;
  if (!take(0x5b)) return -1;
  if (take(0x5d)) return 0;
  let count: u32 = 0;
  do {
    const side = out + count * sideBytes;
    if (count++ == tokenCountMax || !readSide(side) || !sortLastSide(out, side)) return -1;
  } while (take(0x2c));
  return take(0x5d) ? <i32>count : -1;
}

function readSide(side: usize): bool {
  store<u32>(side, 0, mintOffset);
  store<u32>(side, 0, ownerOffset);
  store<u32>(side, 0, programOffset);
  if (!take(0x7b)) return false;
  let seen: u32 = 0;
  let before = TOKEN - 1;
  do {
    const name = readName(TOKEN, AMOUNT, before);
    if (name < 0) {
      if (name == MALFORMED || !skipValue()) return false;
      continue;
    }
    before = name;
    const bit: u32 = 1 << (name - TOKEN);
    if ((seen & bit) != 0 || !readSideMember(side, name)) return false;
    seen |= bit;
  } while (take(0x2c));
  const isWhole = (seen & neededOfSide) == neededOfSide && load<u32>(side, mintOffset) != 0;
  return take(0x7d) && isWhole;
}

const neededOfSide: u32 = (1 << (F_TOKEN_ACCOUNT - TOKEN)) | (1 << (F_TOKEN_MINT - TOKEN)) | (1 << (F_TOKEN_AMOUNT - TOKEN));

function readSideMember(side: usize, name: i32): bool {
  switch (name) {
    case F_TOKEN_MINT: return readOptionalAddress(side + mintOffset);
    case F_TOKEN_OWNER: return readOptionalAddress(side + ownerOffset);
    case F_TOKEN_PROGRAM: return readOptionalAddress(side + programOffset);
    case F_TOKEN_AMOUNT: return readUiAmount(side);
  }
  if (!readCount(0xffff)) return false;
  store<u32>(side, <u32>integer);
  return true;
}

/** Nodes of 2021 wrote an unknown owner as empty text. */
function readOptionalAddress(out: usize): bool {
  skipSpace();
  if (load<u16>(at) == 0x2222) {
    moveTo(at + 2);
    return true;
  }
  if (takeNull()) return true;
  const address = readAddress();
  store<u32>(out, <u32>(address + 1));
  return address >= 0;
}

function readUiAmount(side: usize): bool {
  if (!take(0x7b)) return false;
  let seen: u32 = 0;
  let before = AMOUNT - 1;
  do {
    const name = readName(AMOUNT, NAME_COUNT, before);
    if (name >= 0) before = name;
    if (name < 0 || name > F_DECIMALS) {
      if (name == MALFORMED || !skipValue()) return false;
      continue;
    }
    const bit: u32 = 1 << (name - AMOUNT);
    if ((seen & bit) != 0 || !(name == F_AMOUNT ? readAmount(side) : readDecimals(side))) return false;
    seen |= bit;
  } while (take(0x2c));
  return take(0x7d) && seen == 3;
}

/** Reads a quoted integer without white space. */
function readAmount(side: usize): bool {
  if (!take(0x22) || <u32>load<u8>(at) - 48 >= 10 || !readUlong() || load<u8>(at) != 0x22) return false;
  store<u64>(side, integer, amountOffset);
  return take(0x22);
}

function readDecimals(side: usize): bool {
  if (!readCount(255)) return false;
  store<u32>(side, <u32>integer, decimalsOffset);
  return true;
}

/** Appends the accounts whose balance changed. Returns their number, or -1 if the lists do not match the keys. */
export function pushBalances(): i32 {
  if (preCount < 0 || preCount != postCount || <u32>preCount > listedKeyCount()) return -1;
  rowCount = 0;
  for (let i: u32 = 0; i < <u32>preCount; i++) {
    if (load<u64>(pre + (i << 3)) != load<u64>(post + (i << 3))) insertRow(keyAt(i), i, 0);
  }
  if (!isOrdered()) return -1;
  for (let row: u32 = 0; row < rowCount; row++) {
    const entry = rows + row * rowBytes;
    const index = load<u32>(entry, 4);
    const before = load<u64>(pre + (index << 3));
    push(BAL_ACCOUNT, positionOf(load<u32>(entry)));
    pushLong(BAL_PRE, before);
    pushLong(BAL_CHANGE, zigzag(load<u64>(post + (index << 3)) - before));
  }
  return <i32>rowCount;
}

/** Like `segment/encoding/varint.ts`. */
function zigzag(difference: u64): u64 {
  return (difference << 1) ^ <u64>(<i64>difference >> 63);
}

/** Inserts a row in the order of the accounts' texts. */
function insertRow(account: u32, first: u32, second: u32): void {
  let cursor = rows + rowCount++ * rowBytes;
  while (cursor > rows && compareAddresses(load<u32>(cursor - rowBytes), account) > 0) {
    store<u64>(cursor, load<u64>(cursor - rowBytes));
    store<u32>(cursor, load<u32>(cursor - rowBytes, 8), 8);
    cursor -= rowBytes;
  }
  store<u32>(cursor, account);
  store<u32>(cursor, first, 4);
  store<u32>(cursor, second, 8);
}

/** Returns whether no account occurs twice. The order of equal accounts would be undefined. */
function isOrdered(): bool {
  for (let row: u32 = 1; row < rowCount; row++) {
    const entry = rows + row * rowBytes;
    if (load<u32>(entry) == load<u32>(entry - rowBytes)) return false;
  }
  return true;
}

/** Appends a row for each token account in either list. Returns their number, or -1 if an account is not among the keys. */
export function pushTokens(): i32 {
  const none = listedKeyCount();
  rowCount = 0;
  for (let i: u32 = 0, j: u32 = 0; i < preTokenCount || j < postTokenCount; ) {
    const preSide = preSides + i * sideBytes;
    const postSide = postSides + j * sideBytes;
    const preIndex = i < preTokenCount ? load<u32>(preSide) : 0xffffffff;
    const postIndex = j < postTokenCount ? load<u32>(postSide) : 0xffffffff;
    const index = min(preIndex, postIndex);
    if (index >= none) return -1;
    insertRow(keyAt(index), preIndex == index ? <u32>preSide : 0, postIndex == index ? <u32>postSide : 0);
    if (preIndex == index) i++;
    if (postIndex == index) j++;
  }
  if (!isOrdered()) return -1;
  for (let row: u32 = 0; row < rowCount; row++) pushToken(rows + row * rowBytes);
  return <i32>rowCount;
}

function pushToken(row: usize): void {
  const before = load<u32>(row, 4);
  const after = load<u32>(row, 8);
  push(TOK_ACCOUNT, positionOf(load<u32>(row)));
  pushSides(TOK_PRE_MINT, TOK_POST_MINT, addressCode(before, mintOffset), addressCode(after, mintOffset));
  const preDecimals = before == 0 ? 0 : load<u32>(before, decimalsOffset) + 1;
  const postDecimals = after == 0 ? 0 : load<u32>(after, decimalsOffset) + 1;
  pushSides(TOK_PRE_DECIMALS, TOK_POST_DECIMALS, preDecimals, postDecimals);
  pushSides(TOK_PRE_PROGRAM, TOK_POST_PROGRAM, addressCode(before, programOffset), addressCode(after, programOffset));
  pushSides(TOK_PRE_OWNER, TOK_POST_OWNER, addressCode(before, ownerOffset), addressCode(after, ownerOffset));
  const preAmount = before == 0 ? 0 : load<u64>(before, amountOffset);
  push(TOK_AMOUNT_NULL, (before == 0 ? 1 : 0) | (after == 0 ? 2 : 0));
  pushLong(TOK_PRE_AMOUNT, preAmount);
  pushLong(TOK_CHANGE, after == 0 ? 0 : zigzag(load<u64>(after, amountOffset) - preAmount));
}

/** Returns the position of a side's address plus one; 0 when the side or its address is missing. */
function addressCode(side: u32, offset: usize): u32 {
  if (side == 0) return 0;
  const address = load<u32>(<usize>side + offset);
  return address == 0 ? 0 : positionOf(address - 1) + 1;
}

/** Values are stored plus one. On the post side, 1 means unchanged. */
function pushSides(preColumn: i32, postColumn: i32, preCode: u32, postCode: u32): void {
  push(preColumn, preCode);
  push(postColumn, postCode == 0 ? 0 : postCode == preCode ? 1 : postCode + 1);
}
