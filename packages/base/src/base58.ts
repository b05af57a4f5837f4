/**
 * Base58, the text form of addresses, hashes, signatures and instruction data: a big-endian number in base 58, in which
 * each leading zero byte becomes one leading `1`.
 *
 * The characters of the alphabet are in ascending order of their character codes. Two texts of the same length
 * therefore compare like the numbers they encode, and the number of encoded bytes follows from the length of the text
 * and one comparison, without decoding.
 *
 * This is hand-written for two reasons: a block has thousands of these texts and most of them need only that check, which libraries do not
 * offer; and `@scure/base` refuses long texts, which a source may send as instruction data.
 */
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const zeroDigit = 0x31;
const notADigit = 0xff;

/**
 * The value of each character, or 0xff for a character outside the alphabet. The table has 256 entries, so that a
 * Latin-1 code needs no bounds check.
 */
const digitValues = new Uint8Array(256).fill(notADigit);
for (let value = 0; value < alphabet.length; value++) {
  digitValues[alphabet.charCodeAt(value)] = value;
}

// Decoding takes four characters per step and stores three bytes per limb: the product of both stays far below 2^53.
const characterCountPerStep = 4;
const stepBase = 58 ** characterCountPerStep;
const limbBase = 2 ** 24;
const stepPowers = [1, 58, 58 ** 2, 58 ** 3, stepBase];
const bytePowers = [1, 2 ** 8, 2 ** 16, 2 ** 24];

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
  if (length === 44 && text.charCodeAt(0) !== zeroDigit) return text <= greatest32;
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
  if (!isBase58(text)) return undefined;
  const zeroCount = leadingOneCount(text);
  const limbs = toLimbs(text, zeroCount);
  const bytes = new Uint8Array(zeroCount + limbs.length * 3);
  let end = bytes.length;
  for (let limb of limbs) {
    bytes[--end] = limb;
    limb >>>= 8;
    bytes[--end] = limb;
    bytes[--end] = limb >>> 8;
  }
  // The top limb may hold fewer than three bytes.
  let first = zeroCount;
  while (first < bytes.length && bytes[first] === 0) first++;
  return bytes.subarray(first - zeroCount);
}

/** Returns the number that the characters from `start` on encode, as little-endian limbs of 24 bits. */
function toLimbs(text: string, start: number): Float64Array {
  const limbs = new Float64Array(Math.ceil(((text.length - start) * 5.858) / 24) + 1);
  let used = 0;
  for (let position = start; position < text.length; ) {
    const count = Math.min(characterCountPerStep, text.length - position);
    let carry = 0;
    for (const end = position + count; position < end; position++) {
      carry = carry * 58 + (digitValues[text.charCodeAt(position)] as number);
    }
    const base = stepPowers[count] as number;
    for (let i = 0; i < used; i++) {
      const value = (limbs[i] as number) * base + carry;
      carry = Math.floor(value / limbBase);
      limbs[i] = value - carry * limbBase;
    }
    if (carry > 0) limbs[used++] = carry;
  }
  return limbs.subarray(0, used);
}

export function encodeBase58(bytes: Uint8Array): string {
  const text = Buffer.allocUnsafe(base58LengthMax(bytes.length));
  return text.toString('latin1', 0, writeBase58(bytes, text, 0));
}

/** Returns a length that the text of this many bytes does not exceed. */
export function base58LengthMax(byteCount: number): number {
  return Math.ceil(byteCount * 1.366) + characterCountPerStep;
}

/** Writes the text of bytes, which must fit with `base58LengthMax`, and returns its length. */
export function writeBase58(bytes: Uint8Array, text: Uint8Array, start: number): number {
  let zeroCount = 0;
  while (zeroCount < bytes.length && bytes[zeroCount] === 0) zeroCount++;
  const groups =
    bytes.length <= summedBytesMax ? sharedGroups : new Float64Array(groupCountMax(bytes.length));
  const used = toGroups(bytes, zeroCount, groups);
  let at = start;
  for (; at < start + zeroCount; at++) text[at] = zeroDigit;
  for (let i = used - 1; i >= 0; i--) {
    const group = (groups[i] as number) | 0;
    groups[i] = 0;
    const high = (group / 3_364) | 0;
    const low = group - high * 3_364;
    const first = (high / 58) | 0;
    const third = (low / 58) | 0;
    // The top group may have fewer than four characters.
    const isWhole = i < used - 1;
    if (isWhole || group >= 195_112) text[at++] = alphabetCodes[first] ?? zeroDigit;
    if (isWhole || group >= 3_364) text[at++] = alphabetCodes[high - first * 58] ?? zeroDigit;
    if (isWhole || group >= 58) text[at++] = alphabetCodes[third] ?? zeroDigit;
    text[at++] = alphabetCodes[low - third * 58] ?? zeroDigit;
  }
  return at - start;
}

const alphabetCodes = Uint8Array.from(alphabet, (character) => character.charCodeAt(0));

const groupCountMax = (byteCount: number) => Math.ceil((byteCount * 8) / 23.4) + 2;

/** The sum of this many products of three bytes and a group, with a carry, is below 2^53. */
const sumCountMax = 46;
/** The bytes that are encoded with a table, which then has a megabyte. The data of an instruction is shorter. */
const summedBytesMax = 1_536;

/** The groups of the bytes that are encoded. They are all 0 between two calls. */
const sharedGroups = new Float64Array(groupCountMax(summedBytesMax));

/** The powers of 2^24 as little-endian groups of four characters. */
const limbGroups: Float64Array[] = [Float64Array.of(1)];

function groupsOfLimb(power: number): Float64Array {
  for (let next = limbGroups.length; next <= power; next++) {
    const before = limbGroups[next - 1] as Float64Array;
    const groups = new Float64Array(before.length + 2);
    for (let i = 0; i < before.length; i++) groups[i] = (before[i] as number) * limbBase;
    limbGroups.push(groups.subarray(0, carryGroups(groups, before.length)));
  }
  return limbGroups[power] as Float64Array;
}

/** Reduces every group to less than `stepBase`, and returns how many groups are used then. */
function carryGroups(groups: Float64Array, count: number): number {
  let carry = 0;
  let i = 0;
  for (; i < count || carry > 0; i++) {
    const value = (groups[i] as number) + carry;
    carry = Math.floor(value / stepBase);
    groups[i] = value - carry * stepBase;
  }
  return i;
}

/** Adds the number that some bytes encode to groups that are all 0, and returns how many groups it has. Divisions are rare: they are slow. */
function sumGroups(bytes: Uint8Array, start: number, end: number, groups: Float64Array): number {
  let used = 0;
  for (let power = 0, at = end; at > start; power++, at -= 3) {
    let limb = bytes[at - 1] as number;
    if (at - 2 >= start) limb += (bytes[at - 2] as number) << 8;
    if (at - 3 >= start) limb += (bytes[at - 3] as number) << 16;
    const factors = groupsOfLimb(power);
    for (let i = 0; i < factors.length; i++)
      groups[i] = (groups[i] as number) + limb * (factors[i] as number);
    used = Math.max(used, factors.length);
    if (power % sumCountMax === sumCountMax - 1) used = carryGroups(groups, used);
  }
  return carryGroups(groups, used);
}

/** Sets groups that are all 0 to the number that the bytes from `start` on encode, little-endian, and returns how many it has. */
function toGroups(bytes: Uint8Array, start: number, groups: Float64Array): number {
  let position = Math.min(start + summedBytesMax, bytes.length);
  let used = sumGroups(bytes, start, position, groups);
  while (position < bytes.length) {
    const count = Math.min(3, bytes.length - position);
    let carry = 0;
    for (const end = position + count; position < end; position++) {
      carry = carry * 256 + (bytes[position] as number);
    }
    const base = bytePowers[count] as number;
    for (let i = 0; i < used; i++) {
      const value = (groups[i] as number) * base + carry;
      carry = Math.floor(value / stepBase);
      groups[i] = value - carry * stepBase;
    }
    // Three bytes can hold more than four characters can, so the carry may fill several groups.
    for (; carry > 0; carry = Math.floor(carry / stepBase)) groups[used++] = carry % stepBase;
  }
  return used;
}

function leadingOneCount(text: string): number {
  let count = 0;
  while (count < text.length && text.charCodeAt(count) === zeroDigit) count++;
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
