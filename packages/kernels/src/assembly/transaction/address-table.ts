// A hash table of addresses by their text, each with a number. It is kept across blocks, because most addresses of a block occurred before,
// and a text that is found needs no check and no decoding.
//
// An address has an entry of 64 bytes, one cache line, with everything that is needed at each mention:
// 
//   text, padded with zeros: 48 bytes · its length · the transaction that mentioned it last ·
//   its position in the key list of that transaction · its id in the block plus one
import { base58Encode } from '../common/base58';
import { base58Decode } from '../common/base58-decode';
import { at, end, moveTo, skipSpace } from '../common/json';

/** About as many as a dozen busy blocks have. */
const addressCountMax: u32 = 65536;
const slotCount: u32 = addressCountMax * 2;
/** The maximum number of probes, because texts can be crafted to collide. An address that finds no slot is not stored. */
const stepCountMax: u32 = 64;
export const TEXT_BYTES: u32 = 48;
const keyBytes: u32 = 32;
const entryShift: u32 = 6;
const lengthOffset: usize = 48;
export const STAMP_OFFSET: usize = 52;
export const POSITION_OFFSET: usize = 56;
export const BLOCK_ID_OFFSET: usize = 60;
const lengthMin: u32 = 32;
const lengthMax: u32 = 44;
/** A slot has the number of an address plus one, or 0 if it is free, and above it bits of the hash. */
const numberMask: u32 = 0x1ffff;

let slots: usize = 0;
/** Slots by key, which only binary blocks need. */
let keySlots: usize = 0;
let areKeysFound: bool = false;
/** Entries by number. */
let entries: usize = 0;
let keys: usize = 0;
export let addressCount: u32 = 0;
/** The buffer for a decoded text. It is larger than a key, because other texts may decode to more bytes. */
const decoded = memory.data(64, 16);
/** Masks for the valid bytes of the last third of a text. */
const masks = memory.data(32, 16);

export const ADDRESS_TABLE_BYTES: u32 = slotCount * 8 + (addressCountMax + 1) * 64 + addressCountMax * keyBytes;
export const ADDRESS_COUNT_MAX: u32 = addressCountMax;

export function placeAddresses(base: usize): void {
  entries = (base + 63) & ~63;
  keys = entries + (addressCountMax << entryShift);
  slots = keys + addressCountMax * keyBytes;
  keySlots = slots + slotCount * 4;
  memory.fill(masks, 0xff, 16);
  memory.fill(masks + 16, 0, 16);
}

/** Clears the table if it is nearly full. Addresses of JSON are found by text only, those of binary forms by key too. */
export function renewAddresses(findsKeys: bool): void {
  if (addressCount <= (addressCountMax / 4) * 3 && areKeysFound == findsKeys) return;
  areKeysFound = findsKeys;
  addressCount = 0;
  memory.fill(slots, 0, slotCount * 4);
  if (findsKeys) memory.fill(keySlots, 0, slotCount * 4);
}

/** Clears the record of which transaction mentioned each address. */
export function forgetMentions(): void {
  for (let number: u32 = 0; number < addressCount; number++) store<u32>(entryOf(number), 0, STAMP_OFFSET);
}

// @ts-ignore: decorator
@inline
export function entryOf(number: u32): usize {
  return entries + (<usize>number << entryShift);
}

// @ts-ignore: decorator
@inline
export function keyOf(number: u32): usize {
  return keys + <usize>number * keyBytes;
}

// @ts-ignore: decorator
@inline
function lastThird(text: usize, length: u32): v128 {
  return v128.and(v128.load(text, 32), v128.load(masks + 16 - <usize>(length - 32)));
}

/** Sums products that do not depend on each other, so that the processor computes them in parallel. */
// @ts-ignore: decorator
@inline
function hashOf(a: v128, b: v128, c: v128): u64 {
  const sum =
    (i64x2.extract_lane(a, 0) as u64) * 0x9e3779b97f4a7c15 +
    (i64x2.extract_lane(a, 1) as u64) * 0xbf58476d1ce4e5b9 +
    (i64x2.extract_lane(b, 0) as u64) * 0x94d049bb133111eb +
    (i64x2.extract_lane(b, 1) as u64) * 0xd6e8feb86659fd93 +
    (i64x2.extract_lane(c, 0) as u64) * 0xa0761d6478bd642f +
    (i64x2.extract_lane(c, 1) as u64) * 0xe7037ed1a0b428db;
  return (sum ^ (sum >> 32)) * 0x9e3779b97f4a7c15;
}

/** Reads the text at the cursor. Returns the number of its address, or -1 if it is not an address or the table is full. */
export function readAddress(): i32 {
  if (load<u8>(at) != 0x22) skipSpace();
  if (load<u8>(at) != 0x22) return -1;
  const text = at + 1;
  const quotes = i8x16.bitmask(i8x16.eq(v128.load(text, 32), i8x16.splat(0x22)));
  const length = lengthMin + <u32>ctz(quotes);
  const textEnd = text + length;
  // The first 32 characters are not searched for a quote: it is not base58, so `addressOf` rejects a text that contains one.
  if (length > lengthMax || textEnd >= end) return -1;
  moveTo(textEnd + 1);
  return addressOf(text, length);
}

/** Returns the number of the address with this text, or -1 if it is not an address or the table is full. */
function addressOf(text: usize, length: u32): i32 {
  const a = v128.load(text);
  const b = v128.load(text, 16);
  const c = lastThird(text, length);
  const hash = hashOf(a, b, c);
  const tag = <u32>(hash >> 32) & ~numberMask;
  let slot = <u32>hash & (slotCount - 1);
  for (let step: u32 = 0; step < stepCountMax; step++) {
    const found = load<u32>(slots + (slot << 2));
    if (found == 0) return insert(text, length, slot, tag);
    if ((found & ~numberMask) == tag) {
      const number = (found & numberMask) - 1;
      const known = entryOf(number);
      const isEqual = v128.and(
        v128.and(i8x16.eq(a, v128.load(known)), i8x16.eq(b, v128.load(known, 16))),
        i8x16.eq(c, v128.load(known, 32)),
      );
      if (i8x16.all_true(isEqual)) return <i32>number;
    }
    slot = (slot + 1) & (slotCount - 1);
  }
  return -1;
}

function insert(text: usize, length: u32, slot: u32, tag: u32): i32 {
  if (base58Decode(text, length, decoded) != <i32>keyBytes) return -1;
  // An address that was found by its key before has a number already.
  const number = areKeysFound ? addressOfKey(decoded) : add(text, length, decoded);
  if (number >= 0) store<u32>(slots + (slot << 2), (number + 1) | tag);
  return number;
}

/** Adds an address with its text and its key. Returns its number, or -1 if the table is full. */
function add(text: usize, length: u32, key: usize): i32 {
  if (addressCount >= addressCountMax) return -1;
  const number = addressCount++;
  const entry = entryOf(number);
  v128.store(entry, v128.load(text));
  v128.store(entry, v128.load(text, 16), 16);
  v128.store(entry, lastThird(text, length), 32);
  store<u32>(entry, length, lengthOffset);
  store<u32>(entry, 0, STAMP_OFFSET);
  store<u32>(entry, 0, BLOCK_ID_OFFSET);
  v128.store(keyOf(number), v128.load(key));
  v128.store(keyOf(number), v128.load(key, 16), 16);
  return <i32>number;
}

/** The text of a new key. */
const encoded = memory.data(80, 16);

/** Returns the number of the address with these 32 bytes, or -1 if the table is full. */
export function addressOfKey(key: usize): i32 {
  const a = v128.load(key);
  const b = v128.load(key, 16);
  const hash = hashOf(a, b, i64x2.splat(0));
  const tag = <u32>(hash >> 32) & ~numberMask;
  let slot = <u32>hash & (slotCount - 1);
  for (let step: u32 = 0; step < stepCountMax; step++) {
    const found = load<u32>(keySlots + (slot << 2));
    if (found == 0) {
      const length = <u32>(base58Encode(key, keyBytes, encoded) - encoded);
      const number = add(encoded, length, key);
      if (number >= 0) store<u32>(keySlots + (slot << 2), (number + 1) | tag);
      return number;
    }
    if ((found & ~numberMask) == tag) {
      const number = (found & numberMask) - 1;
      const known = keyOf(number);
      const isEqual = v128.and(i8x16.eq(a, v128.load(known)), i8x16.eq(b, v128.load(known, 16)));
      if (i8x16.all_true(isEqual)) return <i32>number;
    }
    slot = (slot + 1) & (slotCount - 1);
  }
  return -1;
}

/** Returns the number of the address with this text, or -1 if it is not an address or the table is full. */
export function addressOfText(text: usize, length: u32): i32 {
  return length < lengthMin || length > lengthMax ? -1 : addressOf(text, length);
}

export function addressText(number: u32): usize {
  return entryOf(number);
}

export function addressLength(number: u32): u32 {
  return load<u32>(entryOf(number), lengthOffset);
}

/** Returns whether the text starts with that address. */
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

/** Returns a negative number if the text of the first address sorts before that of the second, and 0 if they are the same. */
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
