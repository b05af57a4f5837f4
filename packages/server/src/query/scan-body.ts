/**
 * Two passes over a body for checks that `JSON.parse` cannot make: one over the bytes before parsing, one over the text
 * after it.
 */
import { CodedError } from '@sluice/base/errors';
import { BODY_PATH, joinPath, type QueryPath, quote } from './query-refusal.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Rejects a body that is nested too deeply. `JSON.parse` accepts a million levels, but recursive code that walks the
 * result would overflow the stack.
 */
export function checkDepth(bytes: Uint8Array, depthMax: number): void {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = byteStringEnd(bytes, at);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
    if (depth > depthMax) {
      throw new CodedError('query-too-deep', {
        path: BODY_PATH,
        found: `level ${depth} at byte ${at}`,
        allowed: `${depthMax} levels`,
      });
    }
  }
}

/** Returns the position of the closing quote, or the length of the bytes when the quote is missing. */
function byteStringEnd(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at++;
  }
  return bytes.length;
}

interface Frame {
  readonly path: QueryPath;
  /** The keys seen so far, or `undefined` in an array. */
  readonly keys: Set<string> | undefined;
  key: string;
  index: number;
  expectsKey: boolean;
}

/**
 * Scans valid JSON text. Rejects an object with a duplicate key, because `JSON.parse` would silently keep only the last value.
 * Returns the numbers at the top level of the body as they were written, with every digit.
 */
export function scanKeys(text: string): ReadonlyMap<string, string> {
  const numbers = new Map<string, string>();
  const frames: Frame[] = [];
  for (let at = 0; at < text.length; at++) {
    const frame = frames.at(-1);
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = textStringEnd(text, at);
        if (frame?.expectsKey === true) noteKey(frame, JSON.parse(text.slice(at, end + 1)));
        at = end;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        frames.push(openFrame(frame, text.charCodeAt(at) === OPEN_BRACE));
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        frames.pop();
        break;
      case COLON:
        if (frame !== undefined) frame.expectsKey = false;
        if (frame !== undefined && frames.length === 1) noteNumber(numbers, frame.key, text, at);
        break;
      case COMMA:
        if (frame === undefined) break;
        frame.index++;
        frame.expectsKey = frame.keys !== undefined;
        break;
      default:
    }
  }
  return numbers;
}

function textStringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

function openFrame(parent: Frame | undefined, isObject: boolean): Frame {
  return {
    path: parent === undefined ? BODY_PATH : memberPath(parent),
    keys: isObject ? new Set() : undefined,
    key: '',
    index: 0,
    expectsKey: isObject,
  };
}

function memberPath(frame: Frame): QueryPath {
  return joinPath(frame.path, frame.keys === undefined ? frame.index : frame.key);
}

function noteKey(frame: Frame, key: string): void {
  frame.key = key;
  if (frame.keys?.has(key) === true) {
    throw new CodedError('query-key-duplicate', {
      path: memberPath(frame),
      found: `${quote(key)} twice`,
      allowed: 'each key once',
    });
  }
  frame.keys?.add(key);
}

const numberToken = /\s*(-?\d[\d.eE+-]*)/y;

function noteNumber(numbers: Map<string, string>, key: string, text: string, colon: number): void {
  numberToken.lastIndex = colon + 1;
  const token = numberToken.exec(text)?.[1];
  if (token !== undefined) numbers.set(key, token);
}
