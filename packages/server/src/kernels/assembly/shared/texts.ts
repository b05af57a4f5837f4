// Base58 texts of keys and signatures. Most are never written: a query selects a few rows of each group. So columns hold
// the bytes in room for their text, and the text takes their place when it is first written.
import { base58Encode } from './base58';

/** A key's room: 32 bytes, or its quoted text; last its length, 0 while it is bytes. */
export const KEY_ROOM: u32 = 48;
/** A signature's: 64 bytes, or its text; last its length. */
export const SIGNATURE_ROOM: u32 = 96;

/** What is to be encoded, moved out of the way of its text. */
const moved = memory.data(64, 16);

/** Room for keys of 32 bytes each. */
export function keyRooms(keys: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++, keys += 32, out += KEY_ROOM) {
    v128.store(out, v128.load(keys));
    v128.store(out, v128.load(keys, 16), 16);
    v128.store(out, i64x2.splat(0), 32);
  }
}

/** The length of a key's text, which is in its room from now on. */
// @ts-ignore: decorator
@inline
export function keyText(room: usize): u32 {
  const length: u32 = load<u8>(room, KEY_ROOM - 1);
  return length != 0 ? length : makeKeyText(room);
}

function makeKeyText(room: usize): u32 {
  v128.store(moved, v128.load(room));
  v128.store(moved, v128.load(room, 16), 16);
  store<u8>(room, 0x22);
  const end = base58Encode(moved, 32, room + 1);
  store<u8>(end, 0x22);
  const length = <u32>(end + 1 - room);
  store<u8>(room, <u8>length, KEY_ROOM - 1);
  return length;
}

export function signatureRooms(bytes: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++, bytes += 64, out += SIGNATURE_ROOM) {
    for (let at: u32 = 0; at < 64; at += 16) v128.store(out + at, v128.load(bytes + at));
    v128.store(out, i64x2.splat(0), 80);
  }
}

// @ts-ignore: decorator
@inline
export function signatureText(room: usize): u32 {
  const length: u32 = load<u8>(room, SIGNATURE_ROOM - 1);
  return length != 0 ? length : makeSignatureText(room);
}

function makeSignatureText(room: usize): u32 {
  for (let at: u32 = 0; at < 64; at += 16) v128.store(moved + at, v128.load(room + at));
  const length = <u32>(base58Encode(moved, 64, room) - room);
  store<u8>(room, <u8>length, SIGNATURE_ROOM - 1);
  return length;
}
