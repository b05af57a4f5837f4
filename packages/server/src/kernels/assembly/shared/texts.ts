// Base58 texts of keys. A key is kept in 48 bytes: first as its 32 bytes, then, once it was written, as its text.
import { base58Encode } from './base58';

/** A key's room: 32 bytes, or its quoted text; last its length, 0 while it is bytes. */
export const KEY_ROOM: u32 = 48;

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

/** The texts of keys of 32 bytes each, 48 bytes apart from `out` on, without quotes; the last byte of each is the length. */
export function keyTexts(keys: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++, keys += 32, out += KEY_ROOM) {
    const end = base58Encode(keys, 32, out);
    store<u8>(out, <u8>(end - out), KEY_ROOM - 1);
  }
}
