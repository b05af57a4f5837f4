// Writes bytes as the text of a JSON string.
import { HEX_DIGITS } from './hex-digits';

/** For each control character the letter of its short escape, or 0. */
const SHORT_ESCAPES = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0x62, 0x74, 0x6e, 0, 0x66, 0x72, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
]);

/** Writes the bytes in quotes. Returns 0 if they are not ASCII. May write 16 more bytes. */
export function writeJsonText(from: usize, end: usize, out: usize): usize {
  store<u8>(out++, 0x22);
  while (from < end) {
    const bytes = v128.load(from);
    const special = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      // Bytes above 0x7f are negative.
      i8x16.lt_s(bytes, i8x16.splat(0x20)),
    );
    v128.store(out, bytes);
    const plain = min<usize>(<usize>ctz(i8x16.bitmask(special) | 0x10000), end - from);
    from += plain;
    out += plain;
    if (from == end || plain == 16) continue;
    const byte = load<u8>(from++);
    if (byte > 0x7f) return 0;
    out = writeEscape(byte, out);
  }
  store<u8>(out, 0x22);
  return out + 1;
}

function writeEscape(byte: u8, out: usize): usize {
  const letter = byte >= 0x20 ? byte : load<u8>(SHORT_ESCAPES + byte);
  store<u8>(out, 0x5c);
  store<u8>(out, letter, 1);
  if (letter != 0) return out + 2;
  store<u32>(out, 0x3030755c);
  store<u8>(out, load<u8>(HEX_DIGITS + (byte >> 4)), 4);
  store<u8>(out, load<u8>(HEX_DIGITS + (byte & 15)), 5);
  return out + 6;
}
