// Compresses bytes in the Snappy format, greedily. The same bytes give the same result on every machine.
// https://github.com/google/snappy/blob/main/format_description.txt
//
//   static data │ table │ input … output
import { FREE_MEMORY_START } from '../layout/memory';

/** Matches are searched within blocks of this size, so that a position fits into two bytes. */
const BLOCK_BYTES: u32 = 65536;
const HASH_BITS: u32 = 14;
const TABLE: usize = FREE_MEMORY_START;
const TABLE_BYTES: u32 = 2 << HASH_BITS;
const INPUT: usize = TABLE + TABLE_BYTES;
/** After so many positions without a match, one more position is skipped each time. */
const SKIP_BITS: u32 = 5;
/** A match begins with four bytes, and eight are compared at once. */
const READ_BYTES: u32 = 8;
const COPY_BYTES_MAX: u32 = 64;

export function inputAddress(): usize {
  return INPUT;
}

/** Returns the address of the output for an input of this length. */
export function outputAddress(length: u32): usize {
  return (INPUT + length + READ_BYTES + 7) & ~7;
}

/** Returns the size of the memory for an input of this length. Incompressible blocks have a header of three bytes. */
export function memoryBytes(length: u32): u32 {
  return <u32>outputAddress(length) + length + length / 6 + 64;
}

/** Compresses the input. Returns the length of the output. */
export function compress(length: u32): u32 {
  const start = outputAddress(length);
  let out = start;
  let rest = length;
  while (rest >= 128) {
    store<u8>(out++, <u8>(rest | 128));
    rest >>= 7;
  }
  store<u8>(out++, <u8>rest);
  for (let at: u32 = 0; at < length; at += BLOCK_BYTES) {
    const size = min(BLOCK_BYTES, length - at);
    out = compressBlock(INPUT + at, size, out);
  }
  return <u32>(out - start);
}

// @ts-ignore: decorator
@inline
function hash(at: usize): usize {
  return TABLE + (((load<u32>(at) * 0x1e35a7bd) >> (32 - HASH_BITS)) << 1);
}

function compressBlock(block: usize, size: u32, output: usize): usize {
  memory.fill(TABLE, 0, TABLE_BYTES);
  const end = block + size;
  let out = output;
  let literals = block;
  let at = block + 1;
  let missCount: u32 = 1 << SKIP_BITS;
  while (at + READ_BYTES < end) {
    const entry = hash(at);
    const found = block + load<u16>(entry);
    store<u16>(entry, <u16>(at - block));
    if (load<u32>(found) != load<u32>(at)) {
      at += missCount++ >> SKIP_BITS;
      continue;
    }
    out = writeLiterals(literals, <u32>(at - literals), out);
    const length = matchLength(found, at, end);
    out = writeCopies(<u32>(at - found), length, out);
    at += length;
    literals = at;
    missCount = 1 << SKIP_BITS;
    if (at + READ_BYTES < end) store<u16>(hash(at - 1), <u16>(at - 1 - block));
  }
  return literals < end ? writeLiterals(literals, <u32>(end - literals), out) : out;
}

// @ts-ignore: decorator
@inline
function matchLength(found: usize, at: usize, end: usize): u32 {
  let length: u32 = 4;
  while (at + length + READ_BYTES <= end) {
    const difference = load<u64>(found + length) ^ load<u64>(at + length);
    if (difference != 0) return length + <u32>(ctz(difference) >> 3);
    length += 8;
  }
  while (at + length < end && load<u8>(found + length) == load<u8>(at + length)) length++;
  return length;
}

function writeLiterals(literals: usize, length: u32, output: usize): usize {
  if (length == 0) return output;
  let out = output;
  const rest = length - 1;
  if (rest < 60) {
    store<u8>(out++, <u8>(rest << 2));
  } else if (rest < 256) {
    store<u8>(out, 60 << 2);
    store<u8>(out + 1, <u8>rest);
    out += 2;
  } else {
    store<u8>(out, 61 << 2);
    store<u16>(out + 1, <u16>rest);
    out += 3;
  }
  memory.copy(out, literals, length);
  return out + length;
}

/** Writes a match as copies of at most 64 bytes. A copy of less than 4 bytes has no short form, so the last one never is. */
function writeCopies(offset: u32, length: u32, output: usize): usize {
  let out = output;
  let rest = length;
  while (rest >= COPY_BYTES_MAX + 4) {
    out = writeCopy(offset, COPY_BYTES_MAX, out);
    rest -= COPY_BYTES_MAX;
  }
  if (rest > COPY_BYTES_MAX) {
    out = writeCopy(offset, COPY_BYTES_MAX - 4, out);
    rest -= COPY_BYTES_MAX - 4;
  }
  return writeCopy(offset, rest, out);
}

// @ts-ignore: decorator
@inline
function writeCopy(offset: u32, length: u32, out: usize): usize {
  if (length < 12 && offset < 2048) {
    store<u8>(out, <u8>(((offset >> 8) << 5) | ((length - 4) << 2) | 1));
    store<u8>(out + 1, <u8>offset);
    return out + 2;
  }
  store<u8>(out, <u8>(((length - 1) << 2) | 2));
  store<u16>(out + 1, <u16>offset);
  return out + 3;
}
