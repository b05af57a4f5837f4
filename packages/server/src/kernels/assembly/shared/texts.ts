// Base58 texts of keys, signatures and data. Most are never written: a query selects a few rows of each group. So columns hold
// the bytes in room for their text, and the text takes their place when it is first written.
import { BASE58_FAST_BYTES_MAX, base58Encode } from './base58';

/** A key's room: 32 bytes, or its quoted text; last its length, 0 while it is bytes. */
export const KEY_ROOM: u32 = 48;
/** A signature's: 64 bytes, or its text; last its length. */
export const SIGNATURE_ROOM: u32 = 96;
/** Data's: the text's length or this mark, then the bytes or the text. */
const NO_TEXT: u32 = 0xffffffff;
const DATA_HEAD: u32 = 4;

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

/**
 * Where a row's data has its room, from where its bytes start: base58 takes less than 11 characters for 8 bytes. 8 more a
 * row hold the head, what is rounded, and what the encoder writes too far.
 */
// @ts-ignore: decorator
@inline
export function dataRoom(rooms: usize, start: u32, row: u32): usize {
  return rooms + <usize>((<u64>start * 11) >> 3) + (row << 3);
}

/** Long data is encoded at once: the slow way cannot do it in place. */
export function dataRooms(bytes: usize, starts: usize, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row++) {
    const start = load<u32>(starts + (row << 2));
    const length = load<u32>(starts + (row << 2), 4) - start;
    const room = dataRoom(out, start, row);
    const text = room + DATA_HEAD;
    if (length > BASE58_FAST_BYTES_MAX) {
      store<u32>(room, <u32>(base58Encode(bytes + start, length, text) - text));
      continue;
    }
    store<u32>(room, NO_TEXT);
    // What is copied too far is overwritten by the next row.
    for (let at: u32 = 0; at < length; at += 16) v128.store(text + at, v128.load(bytes + start + at));
  }
}

/** The length of the text of data that has `length` bytes; the text is behind the head of its room. */
// @ts-ignore: decorator
@inline
export function dataText(room: usize, length: u32): u32 {
  const known = load<u32>(room);
  return known != NO_TEXT ? known : makeDataText(room, length);
}

function makeDataText(room: usize, length: u32): u32 {
  // In place: all bytes are read before a character of what follows the zeros is written.
  const text = room + DATA_HEAD;
  const textLength = <u32>(base58Encode(text, length, text) - text);
  store<u32>(room, textLength);
  return textLength;
}
