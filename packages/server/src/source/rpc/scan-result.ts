import { isSpace } from '../json/is-space.ts';
import type { ResultRange } from './find-result.ts';

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Where the result is in a reply that is laid out in a way of its own: other keys, another order, white space. Slower than
 * `findResult`, and as forgiving as JSON is; `undefined` for errors, for a reply to another call, where the result is no
 * object, and where keys come twice. What is inside of the result is for its parser to judge.
 */
export function scanResult(bytes: Uint8Array, id: number): ResultRange | undefined {
  const members = readMembers(bytes);
  const result = members?.get('result');
  const replied = members?.get('id');
  if (result === undefined || replied === undefined || hasError(bytes, members)) return undefined;
  const isMine = textOf(bytes, replied) === String(id);
  return isMine && bytes[result.start] === openBrace ? result : undefined;
}

function hasError(bytes: Uint8Array, members: ReadonlyMap<string, ResultRange> | undefined) {
  const error = members?.get('error');
  return error !== undefined && textOf(bytes, error) !== 'null';
}

/** The values of an object by their keys; `undefined` where this is none, or a key comes twice. */
function readMembers(bytes: Uint8Array): Map<string, ResultRange> | undefined {
  const members = new Map<string, ResultRange>();
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== openBrace) return undefined;
  do {
    const keyStart = skipSpace(bytes, at + 1);
    if (bytes[keyStart] !== quote) return undefined;
    const keyEnd = skipText(bytes, keyStart);
    const colonAt = skipSpace(bytes, keyEnd);
    if (bytes[colonAt] !== colon) return undefined;
    const start = skipSpace(bytes, colonAt + 1);
    const end = skipValue(bytes, start);
    const key = textOf(bytes, { start: keyStart + 1, end: keyEnd - 1 });
    if (end <= start || members.has(key)) return undefined;
    members.set(key, { start, end });
    at = skipSpace(bytes, end);
  } while (bytes[at] === comma);
  const isWhole = bytes[at] === closeBrace && skipSpace(bytes, at + 1) === bytes.length;
  return isWhole ? members : undefined;
}

function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && isSpace(bytes[at] as number)) at++;
  return at;
}

/** From the quote of a text to what follows its end. */
function skipText(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at + 1;
}

function skipValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === quote) return skipText(bytes, start);
  return first === openBrace || first === openBracket
    ? skipNested(bytes, start)
    : skipWord(bytes, start);
}

/** An object or a list, to what follows its end. */
function skipNested(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === quote) at = skipText(bytes, at) - 1;
    else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
    if (depth === 0) return at + 1;
  }
  return bytes.length;
}

/** A number, a truth value or null. */
function skipWord(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && !isSpace(bytes[at] as number) && !wordEnds.has(bytes[at] as number)) {
    at++;
  }
  return at;
}

const wordEnds: ReadonlySet<number> = new Set([comma, closeBrace, closeBracket]);

function textOf(bytes: Uint8Array, { start, end }: ResultRange): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
