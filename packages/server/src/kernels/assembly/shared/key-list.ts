// The key list of the transaction at hand: listed keys first, then whatever else it mentions, each once, as
// `segment/transaction-keys.ts` has it. Addresses are those of the table.
import { ADDRESS_COUNT_MAX } from './address-table';
import { push, TX_KEYS, TX_OTHER_COUNT } from './rows';

/** A transaction lists at most 256. */
const keyCountMax: u32 = 4096;

/** By address: the transaction that mentioned it last, and its place in the list of that. */
let places: usize = 0;
let keys: usize = 0;
let stamp: u32 = 0;
let keyCount: u32 = 0;
let listedCount: u32 = 0;
/** Whether the transaction has more keys than there is room for. */
export let isListFull: bool = false;

export const KEY_LIST_BYTES: u32 = ADDRESS_COUNT_MAX * 8 + keyCountMax * 4;

export function placeKeyList(base: usize): void {
  places = base;
  keys = places + ADDRESS_COUNT_MAX * 8;
}

export function beginKeys(): void {
  keyCount = 0;
  isListFull = false;
  if (++stamp != 0) return;
  // All numbers are used up: those of long ago must not be taken for this transaction's.
  memory.fill(places, 0, ADDRESS_COUNT_MAX * 8);
  stamp = 1;
}

/** Appends a listed key, also when the list repeats itself; an address's first place is the one that counts. */
export function addKey(address: u32): u32 {
  if (keyCount == keyCountMax) {
    isListFull = true;
    return 0;
  }
  store<u32>(keys + (keyCount << 2), address);
  const place = places + (address << 3);
  if (load<u32>(place) != stamp) {
    store<u32>(place, stamp);
    store<u32>(place, keyCount, 4);
  }
  keyCount++;
  return load<u32>(place, 4);
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

export function positionOf(address: u32): u32 {
  const place = places + (address << 3);
  return load<u32>(place) == stamp ? load<u32>(place, 4) : addKey(address);
}

/** The position of a listed key, which may be that of an earlier one. */
export function listedPosition(index: u32): u32 {
  return positionOf(keyAt(index));
}

export function pushKeys(): void {
  push(TX_OTHER_COUNT, keyCount - listedCount);
  for (let i: u32 = 0; i < keyCount; i++) push(TX_KEYS, keyAt(i));
}
