// Reads a varint from a word of eight bytes.

/** The highest bit of each byte, which is set in all bytes of a varint except the last. */
export const VARINT_CONTINUED: u64 = 0x8080808080808080;

/** Returns the length of the varint at the start of the word; 9 if it is longer than the word. */
// @ts-ignore: decorator
@inline
export function varintLength(word: u64): u32 {
  return <u32>(ctz(~word & VARINT_CONTINUED) >> 3) + 1;
}

/** Returns the value of a varint of up to 8 bytes at the start of the word: joins the lower seven bits of its bytes. */
// @ts-ignore: decorator
@inline
export function varintValue(word: u64, length: u32): u64 {
  word &= 0x7f7f7f7f7f7f7f7f & (u64.MAX_VALUE >> (64 - (<u64>length << 3)));
  word = (word & 0x007f007f007f007f) | ((word & 0x7f007f007f007f00) >> 1);
  word = (word & 0x00003fff00003fff) | ((word & 0x3fff00003fff0000) >> 2);
  return (word & 0x000000000fffffff) | ((word & 0x0fffffff00000000) >> 4);
}
