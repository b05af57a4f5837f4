/**
 * Base58, the text form of addresses, hashes, signatures and instruction data: a big-endian number in base 58, in which
 * each leading zero byte becomes one leading `1`.
 *
 * The characters of the alphabet are in ascending order of their character codes. Two texts of the same length
 * therefore compare like the numbers they encode, and the number of encoded bytes follows from the length of the text
 * and one comparison, without decoding.
 *
 * The check of a text's length is our own, because a block has thousands of these texts, most need only that check, and libraries would
 * decode them for it.
 */
import { base58 } from '@scure/base';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const one = 0x31;
const notADigit = 0xff;

/**
 * The value of each character, or 0xff for a character outside the alphabet. The table has 256 entries, so that a
 * Latin-1 code needs no bounds check.
 */
const digitValues = new Uint8Array(256).fill(notADigit);
for (let value = 0; value < alphabet.length; value++) {
  digitValues[alphabet.charCodeAt(value)] = value;
}

/** Returns the value of a character of valid base58 text. Values are in the order of the characters. */
export function base58Value(code: number): number {
  return digitValues[code] as number;
}

export function isBase58(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff || (digitValues[code] as number) === notADigit) return false;
  }
  return true;
}

/** Returns whether the text encodes exactly 32 bytes, as every address and hash does. */
export function isBase58Of32(text: string): boolean {
  const { length } = text;
  if (length > 44 || length < 32 || !isBase58(text)) return false;
  // The common case: 44 characters without a leading `1`.
  if (length === 44 && text.charCodeAt(0) !== one) return text <= greatest32;
  return byteLengthOf(text) === 32;
}

/** Returns whether the text encodes exactly 64 bytes, as every signature does. */
export function isBase58Of64(text: string): boolean {
  return text.length <= 88 && text.length >= 64 && isBase58(text) && byteLengthOf(text) === 64;
}

/** Longer texts are not decoded for an error message, because the work grows with the square of the length. */
const describedLengthMax = 88;

/** Returns why a text is not the expected base58: its first invalid character, or how many bytes it decodes to. */
export function describeBase58Fault(text: string): string {
  const characters = [...text];
  const at = characters.findIndex((character) => !isBase58(character));
  if (at >= 0) {
    return `character ${JSON.stringify(characters[at])} at position ${at + 1} is not base58`;
  }
  if (text.length > describedLengthMax) return `it has ${text.length} characters`;
  const byteCount = text === '' ? 0 : byteLengthOf(text);
  return `it decodes to ${byteCount} byte${byteCount === 1 ? '' : 's'}`;
}

/** Returns the decoded bytes, or `undefined` if a character is outside the alphabet. */
export function decodeBase58(text: string): Uint8Array | undefined {
  return isBase58(text) ? base58.decode(text) : undefined;
}

export function encodeBase58(bytes: Uint8Array): string {
  return base58.encode(bytes);
}

function leadingOneCount(text: string): number {
  let count = 0;
  while (count < text.length && text.charCodeAt(count) === one) count++;
  return count;
}

/** Returns how many bytes valid text of at most 88 characters encodes. */
function byteLengthOf(text: string): number {
  const zeroCount = leadingOneCount(text);
  const rest = zeroCount === 0 ? text : text.slice(zeroCount);
  if (rest.length === 0) return zeroCount;
  // At most two byte counts give texts of this length. The first one whose greatest text is not below `rest` is the
  // answer.
  for (let byteCount = Math.floor((rest.length - 1) * 0.7322) || 1; ; byteCount++) {
    const greatest = greatestOf(byteCount);
    if (rest.length < greatest.length || (rest.length === greatest.length && rest <= greatest)) {
      return zeroCount + byteCount;
    }
  }
}

const greatestTexts: string[] = [];

/** Returns the base58 text of the greatest number of `byteCount` bytes. */
function greatestOf(byteCount: number): string {
  let text = greatestTexts[byteCount];
  if (text === undefined) {
    text = encodeBase58(new Uint8Array(byteCount).fill(0xff));
    greatestTexts[byteCount] = text;
  }
  return text;
}

const greatest32 = greatestOf(32);
