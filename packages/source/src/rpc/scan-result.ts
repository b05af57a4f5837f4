import { isSpace } from '../json/is-space.ts';
import type { ResultRange } from './find-result.ts';

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Returns the position of the result in a reply of any layout: with other keys, another order, or white space. It is slower than
 * `findResult`. Returns `undefined` for errors, for a reply to another call, for duplicate keys, and if the result is not an
 * object. The content of the result is not checked.
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

/** Returns the values of an object by key, or `undefined` if it is not an object or has duplicate keys. */
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

/** Returns the position after a text that starts at `start`. */
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

/** Returns the position after an object or array. */
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

/** Returns the position after a number, a boolean or null. */
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
