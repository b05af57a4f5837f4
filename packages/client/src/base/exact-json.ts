import { hasMembers } from '@sluice/protocol/unknown-value';

/**
 * Prepares JSON text so that every 64-bit integer survives `JSON.parse`.
 *
 * Integers of up to 15 digits fit a JavaScript number exactly. A longer one is put into quotes before parsing, after a mark that no text
 * of a service can start with, an unpaired surrogate:
 *
 *   {"fee":18446744073709551615}  ─►  {"fee":"\ud80018446744073709551615"}
 *
 * One of 16 consecutive digits is at a position divisible by 16, so the search reads only every 16th byte. It works on bytes, because
 * copying bytes costs a third of concatenating parts of a JavaScript string. Digits inside a text are not changed. If the byte before the
 * digits does not show whether they are inside a text, the quotes from the start of the line are counted.
 */
const runLength = 16;
const markCode = 0xd800;
const opening = new TextEncoder().encode('"\\ud800');
const decoder = new TextDecoder('utf-8', { fatal: true });

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const upperE = 0x45;
const bracket = 0x5b;
const backslash = 0x5c;
const lowerE = 0x65;

/** Returns the text of UTF-8 bytes with long integers in quotes. Throws a TypeError if the bytes are not UTF-8. */
export function decodeMarked(bytes: Uint8Array): string {
  const runs = findLongIntegers(bytes);
  return decoder.decode(runs.length === 0 ? bytes : insertQuotes(bytes, runs));
}

/** Returns the exact integer of a parsed value, or `undefined` if it is not an integer. */
export function toBigint(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (typeof value !== 'string') return undefined;
  if (isMarked(value)) return BigInt(value.slice(1));
  return /^-?\d{1,40}$/.test(value) ? BigInt(value) : undefined;
}

/** Returns the value with every marked integer in it as a bigint. Objects and arrays are changed in place. */
export function unmark(value: unknown): unknown {
  if (typeof value === 'string') return isMarked(value) ? BigInt(value.slice(1)) : value;
  if (!hasMembers(value)) return value;
  for (const key of Object.keys(value)) {
    const part = value[key];
    const exact = unmark(part);
    if (exact !== part) value[key] = exact;
  }
  return value;
}

/** Returns whether JSON text that was prepared has a marked integer. */
export function hasMarks(text: string): boolean {
  return text.includes('"\\ud800');
}

/** Replaces marked integers in the decoded values of a record: by a number if it is exact, otherwise by decimal text. */
export function unmarkDecoded(record: Record<string, unknown>): void {
  record['decoded'] = JSON.parse(JSON.stringify(unmark(record['decoded']), toNumberOrText));
}

function toNumberOrText(_: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

/** A valid surrogate pair may start with the same code unit. */
function isMarked(text: string): boolean {
  return text.charCodeAt(0) === markCode && text.charCodeAt(1) <= nine;
}

/** Returns the starts and ends of the integers, alternating. */
function findLongIntegers(bytes: Uint8Array): number[] {
  const runs: number[] = [];
  const texts = new TextScan(bytes);
  for (let at = runLength - 1; at < bytes.length; at += runLength) {
    if (!isDigit(bytes[at])) continue;
    let start = at;
    while (isDigit(bytes[start - 1])) start--;
    let end = at + 1;
    while (isDigit(bytes[end])) end++;
    if (end - start < runLength) continue;
    at = end - 1;
    if (bytes[start - 1] === minus) start--;
    if (isInteger(bytes, start, end, texts)) runs.push(start, end);
  }
  return runs;
}

/**
 * Decides by the bytes around digits whether they are an integer. After `":` with an unescaped quote they are the value of a key. After a
 * byte that cannot precede a number they are inside a text, such as `"0x0200000040420f00"`. Otherwise the quotes are counted. A number
 * with a fraction or an exponent is left to `JSON.parse`.
 */
function isInteger(bytes: Uint8Array, start: number, end: number, texts: TextScan): boolean {
  const after = bytes[end];
  if (after === dot || after === upperE || after === lowerE) return false;
  const before = bytes[start - 1] ?? space;
  if (before !== colon && before !== comma && before !== bracket && before > space) return false;
  const isValue = before === colon && bytes[start - 2] === quote && bytes[start - 3] !== backslash;
  return isValue || !texts.contains(start);
}

/** Determines which bytes are inside a text. Positions must ascend, so that each byte is read once. */
class TextScan {
  readonly #bytes: Uint8Array;
  #at = 0;
  #isText = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  contains(position: number): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    let isText = this.#isText;
    for (; at < position; at++) {
      const code = bytes[at];
      if (code === quote) isText = !isText;
      else if (code === backslash) at++;
    }
    this.#at = at;
    this.#isText = isText;
    return isText;
  }
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= zero && code <= nine;
}

/** A buffer that is reused for every call, up to a size. Its bytes are decoded before the next call. */
let scratch = new Uint8Array(0);
const scratchBytesMax = 16 * 1024 * 1024;

function reserve(length: number): Uint8Array {
  if (length <= scratch.length) return scratch;
  const grown = new Uint8Array(2 * length);
  if (grown.length <= scratchBytesMax) scratch = grown;
  return grown;
}

function insertQuotes(bytes: Uint8Array, runs: readonly number[]): Uint8Array {
  const quoted = reserve(bytes.length + (runs.length / 2) * (opening.length + 1));
  let copied = 0;
  let length = 0;
  for (let i = 0; i < runs.length; i += 2) {
    const start = runs[i] as number;
    const end = runs[i + 1] as number;
    quoted.set(bytes.subarray(copied, start), length);
    length += start - copied;
    quoted.set(opening, length);
    length += opening.length;
    for (let at = start; at < end; at++) quoted[length++] = bytes[at] as number;
    quoted[length++] = quote;
    copied = end;
  }
  quoted.set(bytes.subarray(copied), length);
  return quoted.subarray(0, length + bytes.length - copied);
}
