// The key list of the current transaction: the listed keys first, then all others that it mentions, each once, like
// `segment/layout/transaction-keys.ts`. Addresses are numbers of the address table. The output uses ids of the block instead, assigned in order of
// first mention; `blockKeys` has the 32 bytes of each id.
import { ADDRESS_COUNT_MAX, BLOCK_ID_OFFSET, entryOf, forgetMentions, keyOf, POSITION_OFFSET, STAMP_OFFSET } from './address-table';
import { TX_KEYS, TX_OTHER_COUNT } from '../../layout/columns';
import { push } from './rows';

/** A transaction lists at most 256 keys. */
const keyCountMax: u32 = 4096;
const keyBytes: u32 = 32;

let keys: usize = 0;
/** For each listed key, its position in the key list. A repeated key has the position of its first occurrence. */
let listedPositions: usize = 0;
let stamp: u32 = 0;
let keyCount: u32 = 0;
let listedCount: u32 = 0;
/** Whether the transaction has more keys than fit. */
export let isListFull: bool = false;

/** For each id of the block, its key and the number of its address. */
export let blockKeys: usize = 0;
let blockAddresses: usize = 0;
export let blockKeyCount: u32 = 0;

export const KEY_LIST_BYTES: u32 = keyCountMax * 8 + ADDRESS_COUNT_MAX * (keyBytes + 4) + 64;

export function placeKeyList(base: usize): void {
  keys = (base + 63) & ~63;
  listedPositions = keys + keyCountMax * 4;
  blockKeys = listedPositions + keyCountMax * 4;
  blockAddresses = blockKeys + ADDRESS_COUNT_MAX * keyBytes;
}

/** Starts a block in which no address has an id. */
export function beginBlockKeys(): void {
  for (let id: u32 = 0; id < blockKeyCount; id++) {
    store<u32>(entryOf(load<u32>(blockAddresses + (id << 2))), 0, BLOCK_ID_OFFSET);
  }
  blockKeyCount = 0;
}

export function beginKeys(): void {
  keyCount = 0;
  isListFull = false;
  if (++stamp != 0) return;
  // The stamps are used up, so old stamps are cleared to not be mistaken for this transaction's.
  forgetMentions();
  stamp = 1;
}

/** Appends a listed key, even if it is repeated. The first position of an address is the valid one. */
export function addKey(address: u32): u32 {
  if (keyCount == keyCountMax) {
    isListFull = true;
    return 0;
  }
  const entry = entryOf(address);
  if (load<u32>(entry, STAMP_OFFSET) != stamp) {
    store<u32>(entry, stamp, STAMP_OFFSET);
    store<u32>(entry, keyCount, POSITION_OFFSET);
  }
  const position = load<u32>(entry, POSITION_OFFSET);
  store<u32>(keys + (keyCount << 2), address);
  store<u32>(listedPositions + (keyCount << 2), position);
  keyCount++;
  return position;
}

export function endOfListed(): void {
  listedCount = keyCount;
}

export function listedKeyCount(): u32 {
  return listedCount;
}

export function keyAt(index: u32): u32 {
  return load<u32>(keys + (index << 2));
}

// @ts-ignore: decorator
@inline
export function positionOf(address: u32): u32 {
  const entry = entryOf(address);
  return load<u32>(entry, STAMP_OFFSET) == stamp ? load<u32>(entry, POSITION_OFFSET) : addKey(address);
}

/** Returns the position of a listed key. A repeated key has the position of its first occurrence. */
// @ts-ignore: decorator
@inline
export function listedPosition(index: u32): u32 {
  return load<u32>(listedPositions + (index << 2));
}

export function pushKeys(): void {
  push(TX_OTHER_COUNT, keyCount - listedCount);
  for (let i: u32 = 0; i < keyCount; i++) push(TX_KEYS, blockIdOf(keyAt(i)));
}

function blockIdOf(address: u32): u32 {
  const entry = entryOf(address);
  const known = load<u32>(entry, BLOCK_ID_OFFSET);
  if (known != 0) return known - 1;
  const id = blockKeyCount++;
  store<u32>(entry, id + 1, BLOCK_ID_OFFSET);
  store<u32>(blockAddresses + (id << 2), address);
  const key = blockKeys + <usize>id * keyBytes;
  v128.store(key, v128.load(keyOf(address)));
  v128.store(key, v128.load(keyOf(address), 16), 16);
  return id;
}
