// The cursor over the data of an instruction or event: its position and end, and functions that read numbers without writing text.
import {
  MOVE_HERE, MOVE_NONE, MOVE_START, NUMBER_BIG, NUMBER_CONSTANT, NUMBER_LITTLE, NUMBER_SHORT,
} from '../../../layout/decoding';
import { SAFE_MAX } from './numbers';

/** The start of the data, and the position and the end of the value in it. */
let start: usize = 0;
export let at: usize = 0;
export let end: usize = 0;

/** Starts at `skipped` bytes after the start of the data. Returns whether there are as many. */
export function openData(from: usize, to: usize, skipped: u32): bool {
  if (skipped > <u32>(to - from)) return false;
  start = from;
  at = from + skipped;
  end = to;
  return true;
}

// @ts-ignore: decorator
@inline
export function setAt(position: usize): void {
  at = position;
}

// @ts-ignore: decorator
@inline
export function setEnd(position: usize): void {
  end = position;
}

/** Moves over the next bytes. Returns where they start, or 0 if there are fewer. */
// @ts-ignore: decorator
@inline
export function take(byteCount: u32): usize {
  const taken = at;
  if (byteCount > <u32>(end - taken)) return 0;
  at = taken + byteCount;
  return taken;
}

/** A number that cannot be read, or that a JavaScript number does not represent exactly. */
export const FAILED: u64 = 0xffffffffffffffff;

/** Reads a length, a flag or the number of a variant. */
export function readNumber(operands: usize): u64 {
  const value = load<u32>(operands, 4);
  switch (load<u32>(operands)) {
    case NUMBER_CONSTANT:
      return value;
    case NUMBER_LITTLE:
    case NUMBER_BIG: {
      const from = take(value);
      if (from == 0) return FAILED;
      const isBig = load<u32>(operands) == NUMBER_BIG;
      if (value == 1) return load<u8>(from);
      if (value == 2) return isBig ? bswap<u16>(load<u16>(from)) : load<u16>(from);
      if (value == 4) return isBig ? bswap<u32>(load<u32>(from)) : load<u32>(from);
      const long = isBig ? bswap<u64>(load<u64>(from)) : load<u64>(from);
      return long <= SAFE_MAX ? long : FAILED;
    }
    case NUMBER_SHORT:
      return readShort(value);
  }
  return FAILED;
}

/** Reads seven bits per byte, least significant first; the highest bit says whether another byte follows. */
export function readShort(bytesMax: u32): u64 {
  let value: u64 = 0;
  for (let i: u32 = 0; i < bytesMax; i++) {
    const from = take(1);
    if (from == 0) return FAILED;
    const bits = <u64>load<u8>(from);
    if (i > 8 && (bits & 0x7f) != 0) return FAILED;
    if (i <= 8) value |= (bits & 0x7f) << (7 * <u64>i);
    if (bits < 0x80) break;
  }
  return value <= SAFE_MAX ? value : FAILED;
}

/** Changes the position within the data. */
export function move(operands: usize, value: usize): bool {
  const from = load<u32>(operands);
  if (from == MOVE_NONE) return true;
  const by = <i64>load<i32>(operands, 4);
  const base = from == MOVE_HERE ? at : from == MOVE_START ? (by < 0 ? end : start) : value;
  const to = <i64>base + by;
  if (to < <i64>start || to > <i64>end) return false;
  at = <usize>to;
  return true;
}
