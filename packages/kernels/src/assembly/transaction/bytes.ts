// A cursor over protobufs, wire transactions and CBOR. Like the cursor over JSON it accepts only ordinary input and returns false for
// anything else, which is then left to the readers in `packages/source/src/binary`. 64 bytes after the input are readable.

import { varintLength, varintValue } from '../common/varint';

/** The position of the cursor, and the end of the bytes. */
export let at: usize = 0;
export let end: usize = 0;

/** The last integer that was read. */
export let value: u64 = 0;
/** The bytes of the last field or value. */
export let partStart: usize = 0;
export let partLength: u32 = 0;
/** The number and the wire type of the last field. */
export let field: u32 = 0;
export let wireType: u32 = 0;

export const WIRE_VARINT: u32 = 0;
export const WIRE_BYTES: u32 = 2;

/** Results of `nextField`. */
export const FIELD: i32 = 1;
export const NO_FIELD: i32 = 0;
export const MALFORMED_FIELD: i32 = -1;

export function openBytes(start: usize, stop: usize): void {
  at = start;
  end = stop;
}

// @ts-ignore: decorator
@inline
export function readVarint(): bool {
  if (at < end && load<u8>(at) < 0x80) {
    value = load<u8>(at++);
    return true;
  }
  return readLongVarint();
}

function readLongVarint(): bool {
  const word = load<u64>(at);
  const length = varintLength(word);
  if (length <= 8 && <usize>(end - at) >= <usize>length) {
    value = varintValue(word, length);
    at += length;
    return true;
  }
  value = 0;
  for (let shift: u64 = 0; shift < 63; shift += 7) {
    if (at == end) return false;
    const byte = <u64>load<u8>(at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  if (at == end) return false;
  const last = <u64>load<u8>(at++);
  value |= last << 63;
  return last <= 1;
}

/** Reads a length and the bytes after it. */
// @ts-ignore: decorator
@inline
export function readPart(): bool {
  if (!readVarint() || value > <u64>(end - at)) return false;
  partStart = at;
  partLength = <u32>value;
  at += <usize>value;
  return true;
}

/** Reads the next field of a protobuf: its number, and its integer or its bytes. Other fixed values are skipped. */
// @ts-ignore: decorator
@inline
export function nextField(): i32 {
  const tag = at;
  if (tag == end) return NO_FIELD;
  // Nearly all fields have a tag of one byte and bytes whose length has one or two.
  const first = <u32>load<u8>(tag);
  if ((first & 0x87) == WIRE_BYTES && first >= 8) {
    const low = <u32>load<u8>(tag, 1);
    const high = <u32>load<u8>(tag, 2);
    if (low < 0x80 || high < 0x80) {
      const start = tag + (low < 0x80 ? 2 : 3);
      const length = low < 0x80 ? low : (low & 0x7f) | (high << 7);
      if (start > end || <usize>length > end - start) return MALFORMED_FIELD;
      field = first >> 3;
      wireType = WIRE_BYTES;
      partStart = start;
      partLength = length;
      at = start + length;
      return FIELD;
    }
  }
  return nextRareField();
}

function nextRareField(): i32 {
  if (!readVarint() || value < 8 || value > 0xffffffff) return MALFORMED_FIELD;
  field = <u32>value >> 3;
  wireType = <u32>value & 7;
  if (wireType == WIRE_VARINT) return readVarint() ? FIELD : MALFORMED_FIELD;
  if (wireType == WIRE_BYTES) return readPart() ? FIELD : MALFORMED_FIELD;
  const length: usize = wireType == 1 ? 8 : wireType == 5 ? 4 : 0;
  if (length == 0 || <usize>(end - at) < length) return MALFORMED_FIELD;
  at += length;
  return FIELD;
}

/** Reads `length` bytes. */
// @ts-ignore: decorator
@inline
export function readBytes(length: u32): bool {
  if (<usize>(end - at) < <usize>length) return false;
  partStart = at;
  partLength = length;
  at += length;
  return true;
}

/** Reads a length of a wire transaction. The ledger accepts only its shortest form; three bytes are left to the other reader. */
// @ts-ignore: decorator
@inline
export function readShortLength(): bool {
  if (at == end) return false;
  const first = <u32>load<u8>(at++);
  value = first;
  if (first < 0x80) return true;
  if (at == end) return false;
  const second = <u32>load<u8>(at++);
  value = (first & 0x7f) | (second << 7);
  return second > 0 && second < 0x80;
}

/** Reads a length of a wire transaction and the bytes after it. */
// @ts-ignore: decorator
@inline
export function readShortPart(): bool {
  return readShortLength() && readBytes(<u32>value);
}

/** Reads the head of a CBOR value of a type, up to 32 bits. */
export function readCborHead(type: u32): bool {
  if (at == end) return false;
  const first = <u32>load<u8>(at++);
  if (first >> 5 != type) return false;
  const size = first & 0x1f;
  value = size;
  if (size < 24) return true;
  if (size > 26) return false;
  const length: usize = <usize>1 << (size - 24);
  if (end - at < length) return false;
  value = length == 1 ? <u64>load<u8>(at) : length == 2 ? <u64>bswap<u16>(load<u16>(at)) : <u64>bswap<u32>(load<u32>(at));
  at += length;
  return true;
}

/** Returns whether the bytes are UTF-8. */
export function isUtf8(start: usize, stop: usize): bool {
  let position = start;
  while (position < stop) {
    const first = <u32>load<u8>(position++);
    if (first < 0x80) continue;
    const more: u32 = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || <u32>(stop - position) < more) return false;
    const second = <u32>load<u8>(position);
    // The second byte excludes forms that are too long, halves of surrogate pairs, and numbers above U+10FFFF.
    if (first == 0xe0 && second < 0xa0) return false;
    if (first == 0xed && second > 0x9f) return false;
    if (first == 0xf0 && second < 0x90) return false;
    if (first == 0xf4 && second > 0x8f) return false;
    for (let i: u32 = 0; i < more; i++) if ((load<u8>(position++) & 0xc0) != 0x80) return false;
  }
  return true;
}
