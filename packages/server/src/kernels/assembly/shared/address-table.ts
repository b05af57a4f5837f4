// Addresses by their text, each with a number, kept from block to block: most of those that a block names were named
// before, and what is found by its text need be neither checked nor decoded.
import { base58Decode } from './base58-decode';

/** About as many as a dozen busy blocks name. */
const addressCountMax: u32 = 65536;
const slotCount: u32 = addressCountMax * 2;
/** Who finds no place after so many steps does not get one: texts can be made to meet. */
const stepCountMax: u32 = 64;
export const TEXT_BYTES: u32 = 48;
const keyBytes: u32 = 32;
export const ADDRESS_LENGTH_MIN: u32 = 32;
export const ADDRESS_LENGTH_MAX: u32 = 44;

/** The address's number plus one; 0 is free. */
let slots: usize = 0;
/** By number: the text, zeros behind it; the key; and how long the text is. */
let texts: usize = 0;
export let keys: usize = 0;
let lengths: usize = 0;
export let addressCount: u32 = 0;
/** Decoded text; more than a key for what is none. */
const decoded = memory.data(64, 16);
/** Ones for as many bytes of the text's last third as there are. */
const masks = memory.data(32, 16);

export const ADDRESS_TABLE_BYTES: u32 = slotCount * 4 + addressCountMax * (TEXT_BYTES + keyBytes + 4);
export const ADDRESS_COUNT_MAX: u32 = addressCountMax;

export function placeAddresses(base: usize): void {
  texts = base;
  keys = texts + addressCountMax * TEXT_BYTES;
  slots = keys + addressCountMax * keyBytes;
  lengths = slots + slotCount * 4;
  memory.fill(masks, 0xff, 16);
  memory.fill(masks + 16, 0, 16);
}

/** Forgets all addresses where few more would fit. */
export function renewAddresses(): void {
  if (addressCount <= (addressCountMax / 4) * 3) return;
  addressCount = 0;
  memory.fill(slots, 0, slotCount * 4);
}

// @ts-ignore: decorator
@inline
function lastThird(text: usize, length: u32): v128 {
  return v128.and(v128.load(text, 32), v128.load(masks + 16 - <usize>(length - 32)));
}

function hashOf(a: v128, b: v128, c: v128): u32 {
  const factor: u64 = 0x9e3779b97f4a7c15;
  let hash: u64 = (i64x2.extract_lane(a, 0) as u64) * factor;
  hash = ((hash ^ (hash >> 29)) + (i64x2.extract_lane(a, 1) as u64)) * factor;
  hash = ((hash ^ (hash >> 29)) + (i64x2.extract_lane(b, 0) as u64)) * factor;
  hash = ((hash ^ (hash >> 29)) + (i64x2.extract_lane(b, 1) as u64)) * factor;
  hash = ((hash ^ (hash >> 29)) + (i64x2.extract_lane(c, 0) as u64)) * factor;
  hash = ((hash ^ (hash >> 29)) + (i64x2.extract_lane(c, 1) as u64)) * factor;
  return <u32>(hash >> 32);
}

/** The number of the address with this text; -1 if it is none, or there is no room for it. */
export function addressOf(text: usize, length: u32): i32 {
  if (length < ADDRESS_LENGTH_MIN || length > ADDRESS_LENGTH_MAX) return -1;
  const a = v128.load(text);
  const b = v128.load(text, 16);
  const c = lastThird(text, length);
  let slot = hashOf(a, b, c) & (slotCount - 1);
  for (let step: u32 = 0; step < stepCountMax; step++) {
    const found = load<u32>(slots + (slot << 2));
    if (found == 0) return insert(text, length, slot);
    const known = texts + (found - 1) * TEXT_BYTES;
    const isEqual = v128.and(
      v128.and(i8x16.eq(a, v128.load(known)), i8x16.eq(b, v128.load(known, 16))),
      i8x16.eq(c, v128.load(known, 32)),
    );
    if (i8x16.all_true(isEqual)) return <i32>(found - 1);
    slot = (slot + 1) & (slotCount - 1);
  }
  return -1;
}

function insert(text: usize, length: u32, slot: u32): i32 {
  if (addressCount >= addressCountMax) return -1;
  if (base58Decode(text, length, decoded) != <i32>keyBytes) return -1;
  const number = addressCount++;
  const known = texts + number * TEXT_BYTES;
  memory.copy(known, text, 32);
  v128.store(known, lastThird(text, length), 32);
  memory.copy(keys + number * keyBytes, decoded, keyBytes);
  store<u32>(lengths + (number << 2), length);
  store<u32>(slots + (slot << 2), number + 1);
  return <i32>number;
}

export function addressText(number: u32): usize {
  return texts + number * TEXT_BYTES;
}

export function addressLength(number: u32): u32 {
  return load<u32>(lengths + (number << 2));
}

/** Whether the text of that address stands here. */
export function startsWithAddress(text: usize, number: u32): bool {
  const known = addressText(number);
  const isEqual = v128.and(
    v128.and(
      i8x16.eq(v128.load(text), v128.load(known)),
      i8x16.eq(v128.load(text, 16), v128.load(known, 16)),
    ),
    i8x16.eq(lastThird(text, addressLength(number)), v128.load(known, 32)),
  );
  return i8x16.all_true(isEqual);
}

/** Below 0 if the text of the first address sorts before that of the second; 0 for the same address. */
export function compareAddresses(first: u32, second: u32): i32 {
  const a = addressText(first);
  const b = addressText(second);
  for (let offset: usize = 0; offset < TEXT_BYTES; offset += 8) {
    const left = bswap<u64>(load<u64>(a + offset));
    const right = bswap<u64>(load<u64>(b + offset));
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}
