// Base58 texts of keys. A key takes KEY_TEXT_BYTES: first its 32 bytes, later its quoted text, which replaces them. The last byte is the
// length of the text, or 0 before the key is encoded.
import { KEY_TEXT_BYTES } from '../../layout/writing';
import { base58Encode } from './base58';

/** A copy of the key that is encoded, because its text replaces it. */
const moved = memory.data(64, 16);

/** Copies keys of 32 bytes each to the positions of their texts. */
export function copyKeys(keys: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++, keys += 32, out += KEY_TEXT_BYTES) {
    v128.store(out, v128.load(keys));
    v128.store(out, v128.load(keys, 16), 16);
    v128.store(out, i64x2.splat(0), 32);
  }
}

/** Encodes a key unless it is already encoded. Returns the length of its text. */
// @ts-ignore: decorator
@inline
export function keyText(position: usize): u32 {
  const length: u32 = load<u8>(position, KEY_TEXT_BYTES - 1);
  return length != 0 ? length : makeKeyText(position);
}

function makeKeyText(position: usize): u32 {
  v128.store(moved, v128.load(position));
  v128.store(moved, v128.load(position, 16), 16);
  store<u8>(position, 0x22);
  const end = base58Encode(moved, 32, position + 1);
  store<u8>(end, 0x22);
  const length = <u32>(end + 1 - position);
  store<u8>(position, <u8>length, KEY_TEXT_BYTES - 1);
  return length;
}

/** Writes the texts of keys of 32 bytes each to `out`, KEY_TEXT_BYTES apart and without quotes. The last byte of each is the length. */
export function keyTexts(keys: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++, keys += 32, out += KEY_TEXT_BYTES) {
    const end = base58Encode(keys, 32, out);
    store<u8>(out, <u8>(end - out), KEY_TEXT_BYTES - 1);
  }
}
