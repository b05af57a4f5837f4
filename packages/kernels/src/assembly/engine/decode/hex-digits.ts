// Hexadecimal digits of bytes.
export const HEX_DIGITS = memory.data<u8>([48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 102]);

/** Writes the sixteen digits of eight bytes. */
// @ts-ignore: decorator
@inline
export function writeEightBytes(bytes: usize, out: usize): void {
  const value = v128.load64_zero(bytes);
  const low = v128.and(value, i8x16.splat(15));
  const high = v128.and(i16x8.shr_u(value, 4), i8x16.splat(15));
  const nibbles = i8x16.shuffle(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  v128.store(out, i8x16.swizzle(v128.load(HEX_DIGITS), nibbles));
}

/** Writes `"0x`, the digits and `"`. May write 16 more bytes. */
export function writeHexText(bytes: usize, length: u32, out: usize): usize {
  store<u32>(out, 0x00783022);
  out = writeHexDigits(bytes, length, out + 3);
  store<u8>(out, 0x22);
  return out + 1;
}

/** Writes the digits. May write 16 more bytes. */
export function writeHexDigits(bytes: usize, length: u32, out: usize): usize {
  for (let i: u32 = 0; i < length; i += 8) writeEightBytes(bytes + i, out + (i << 1));
  return out + (length << 1);
}
