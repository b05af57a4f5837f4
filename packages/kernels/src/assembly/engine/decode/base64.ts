// Decodes the text of a log line with data: base64 texts with one space between them.

const ALPHABET = memory.data<u8>([
  65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 97, 98, 99, 100, 101, 102, 103, 104,
  105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 43, 47,
]);
/** The value of each character plus one; 0 for characters that are not in the alphabet. */
const VALUES = memory.data(256, 16);
const SPACE: u32 = 0x20;
const PADDING: u32 = 0x3d;

function tabulate(): void {
  for (let value: u32 = 0; value < 64; value++) store<u8>(VALUES + load<u8>(ALPHABET + value), <u8>(value + 1));
}

/** Decodes sixteen characters to twelve bytes. Returns false if not all of them are in the alphabet. */
// @ts-ignore: decorator
@inline
function decodeSixteen(from: usize, out: usize): bool {
  const text = v128.load(from);
  const high = i8x16.shr_u(text, 4);
  // A character is in the alphabet if the bits for its upper and for its lower half have none in common.
  const upper = i8x16(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10);
  const lower = i8x16(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a);
  const low = v128.and(text, i8x16.splat(15));
  if (v128.any_true(v128.and(i8x16.swizzle(upper, high), i8x16.swizzle(lower, low)))) return false;
  // The difference from a character to its value depends on its upper half; only the slash differs from the plus sign.
  const differences = i8x16(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0);
  const values = i8x16.add(text, i8x16.swizzle(differences, i8x16.add(high, i8x16.eq(text, i8x16.splat(0x2f)))));
  // Joins pairs of 6 bits, then pairs of 12 bits.
  const pairs = v128.or(i16x8.shl(v128.and(values, i16x8.splat(0x3f)), 6), i16x8.shr_u(values, 8));
  const joined = v128.or(i32x4.shl(v128.and(pairs, i32x4.splat(0xfff)), 12), i32x4.shr_u(pairs, 16));
  v128.store(out, i8x16.shuffle(joined, joined, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15));
  return true;
}

/** Returns the end of the bytes, or 0 if the text is in another form, such as without padding. May write 16 more bytes. */
export function decodeBase64Texts(from: usize, end: usize, out: usize): usize {
  if (load<u8>(VALUES + 65) == 0) tabulate();
  while (from < end) {
    if (end - from >= 16 && decodeSixteen(from, out)) {
      out += 12;
      from += 16;
      if (from < end && load<u8>(from) == SPACE) from++;
      continue;
    }
    if (end - from < 4) return 0;
    const a = <u32>load<u8>(VALUES + load<u8>(from));
    const b = <u32>load<u8>(VALUES + load<u8>(from, 1));
    const c = <u32>load<u8>(VALUES + load<u8>(from, 2));
    const d = <u32>load<u8>(VALUES + load<u8>(from, 3));
    const bits = ((a - 1) << 18) | ((b - 1) << 12) | ((c - 1) << 6) | (d - 1);
    if (a != 0 && b != 0 && c != 0 && d != 0) {
      store<u32>(out, bswap<u32>(bits << 8));
      out += 3;
      from += 4;
    } else {
      const last = load<u8>(from, 3) == PADDING;
      const both = last && load<u8>(from, 2) == PADDING;
      if (a == 0 || b == 0 || !last || (c == 0 && !both)) return 0;
      store<u16>(out, bswap<u16>(<u16>(((a - 1) << 10) | ((b - 1) << 4) | (both ? 0 : (c - 1) >> 2))));
      out += both ? 1 : 2;
      from += 4;
      // Nothing but another text follows the padding.
      if (from < end && load<u8>(from) != SPACE) return 0;
    }
    if (from < end && load<u8>(from) == SPACE) from++;
  }
  return out;
}
