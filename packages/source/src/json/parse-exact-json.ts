/**
 * Parses JSON without losing digits. Rejects input that `JSON.parse` would change silently or crash on: invalid UTF-8, lone
 * surrogates, and deep nesting.
 *
 * An integer of 16 digits or more may not fit into a JavaScript number, so it is quoted before parsing. The mark U+007F in front
 * distinguishes it from a text of the source:
 *
 *   {"fee":18446744073709551615}  ─►  {"fee":"␡18446744073709551615"}
 *
 * If the source contains that character, the mark gets a number with which no text of the source begins:
 *
 *   {"fee":18446744073709551615,"log":"␡0␡ 5"}  ─►  {"fee":"␡1␡18446744073709551615","log":"␡0␡ 5"}
 *
 * The transactions of a block are cut out and parsed one by one on demand. The objects of a transaction are then still in the
 * processor's caches when they are read, and are released before the next garbage collection. One text stands for a run of
 * transactions that are separated by a comma only:
 *
 *   {"blockhash":…,"transactions":[{…},{…}, {…}]}  ─►  {"blockhash":…,"transactions":["␡0","␡1"]}, {…},{…} and {…}
 */

import { isAscii, isUtf8 } from 'node:buffer';
import { type JsonScan, JsonScanner, type ScanExports } from '@sluice/kernels/json-scanner';
import { loadKernel } from '@sluice/kernels/load-kernel';
import { memberOf } from '@sluice/protocol/unknown-value';

/** The first character of every mark. */
export const markCode = 0x7f;
/** The mark of long integers and of cut-out parts, if the source does not contain this character. */
export const plainMark = String.fromCharCode(markCode);

export type JsonRefusal = 'not-utf8' | 'lone-surrogate' | 'too-deep' | 'not-json';

export type ExactJson =
  | {
      readonly kind: 'parsed';
      readonly value: unknown;
      /** The prefix of the texts of long integers. No text of the source begins with it. */
      readonly mark: string;
      /** The cut-out transactions; null if the elements of `transactions` are the transactions themselves. */
      readonly parts: JsonParts | null;
    }
  | { readonly kind: 'refused'; readonly reason: JsonRefusal };

/** Scans JSON bytes. */
export type ScanJson = (bytes: Uint8Array, depthMax: number) => JsonScan;

export function parseExactJson(
  bytes: Uint8Array,
  depthMax: number,
  scanBytes: ScanJson = scanJson,
): ExactJson {
  const scan = scanBytes(bytes, depthMax);
  if (scan.isTooDeep) return { kind: 'refused', reason: 'too-deep' };
  if (!scan.isAscii && !isUtf8(scan.bytes)) return { kind: 'refused', reason: 'not-utf8' };
  if (scan.hasLoneSurrogate) return { kind: 'refused', reason: 'lone-surrogate' };
  const reader = new JsonParts(scan);
  try {
    return reader.parseFrame() ?? reader.parseWhole();
  } catch (error) {
    if (error instanceof SyntaxError) return { kind: 'refused', reason: 'not-json' };
    throw error;
  }
}

/** A run of parts: from `first` up to, but not including, `last`. */
export interface PartRange {
  readonly first: number;
  readonly last: number;
}

/** The JSON of a block, and of its transactions one by one. Valid until the next block is scanned. */
export class JsonParts {
  readonly #bytes: Buffer;
  readonly #scan: JsonScan;
  /** The first part of each run of parts that are separated by a comma only. */
  readonly #ranges: number[] = [];
  #mark = plainMark;

  constructor(scan: JsonScan) {
    this.#bytes = scan.bytes;
    this.#scan = scan;
  }

  /** Returns the parts for an element of `transactions`; undefined if the element is a transaction itself. */
  rangeOf(element: unknown): PartRange | undefined {
    if (typeof element !== 'string') return undefined;
    const range = Number(element.slice(1));
    const last = this.#ranges[range + 1] ?? this.#scan.parts.length / 2;
    return { first: this.#ranges[range] as number, last };
  }

  bytesOf(part: number): Uint8Array {
    const { parts } = this.#scan;
    return this.#bytes.subarray(parts[part * 2], parts[part * 2 + 1]);
  }

  /** Parses a part. Returns undefined if it is not JSON. */
  read(part: number): unknown {
    const { parts } = this.#scan;
    try {
      return JSON.parse(this.#text(parts[part * 2] as number, parts[part * 2 + 1] as number));
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** Returns the transactions for an element of `transactions`; undefined for those that are not JSON. */
  readAll(element: unknown): unknown[] {
    const range = this.rangeOf(element);
    if (range === undefined) return [element];
    const { first, last } = range;
    return Array.from({ length: last - first }, (_, i) => this.read(first + i));
  }

  parseWhole(): ExactJson {
    const end = this.#bytes.length;
    // This parse loses digits but no texts, and only the texts are needed.
    if (this.#scan.hasDelete) this.#mark = findFreeMark(JSON.parse(this.#slice(0, end)));
    const value: unknown = JSON.parse(this.#text(0, end));
    return { kind: 'parsed', value, mark: this.#mark, parts: null };
  }

  /** Parses the block without its transactions. Returns undefined if the cut-out parts may be something else. */
  parseFrame(): ExactJson | undefined {
    const { parts, hasDelete } = this.#scan;
    if (parts.length === 0 || hasDelete) return undefined;
    let text = '';
    let end = 0;
    for (let part = 0; part < parts.length / 2; part++) {
      const start = parts[part * 2] as number;
      const isNext = part > 0 && start === end + 1 && this.#bytes[end] === code.comma;
      if (!isNext) {
        text += `${this.#text(end, start)}"${plainMark}${this.#ranges.length}"`;
        this.#ranges.push(part);
      }
      end = parts[part * 2 + 1] as number;
    }
    const value: unknown = JSON.parse(text + this.#text(end, this.#bytes.length));
    const elements = memberOf(value, 'transactions');
    if (!Array.isArray(elements)) return undefined;
    let rangeCount = 0;
    for (const element of elements) {
      if (typeof element !== 'string') continue;
      // The text is from the source and not a transaction.
      if (element.charCodeAt(0) !== markCode || element.length > 16) return undefined;
      rangeCount++;
    }
    if (rangeCount !== this.#ranges.length) return undefined;
    return { kind: 'parsed', value, mark: plainMark, parts: this };
  }

  /** Returns the text between two positions, with long integers quoted. */
  #text(start: number, end: number): string {
    const { digitRuns } = this.#scan;
    let run = firstAtOrAfter(digitRuns, start);
    if (run >= digitRuns.length || (digitRuns[run] as number) >= end)
      return this.#slice(start, end);
    let text = '';
    let copied = start;
    for (; run < digitRuns.length && (digitRuns[run] as number) < end; run += 2) {
      const digitsEnd = digitRuns[run + 1] as number;
      const integer = integerStart(this.#bytes, digitRuns[run] as number, digitsEnd);
      if (integer < 0) continue;
      text += `${this.#slice(copied, integer)}"${this.#mark}${this.#slice(integer, digitsEnd)}"`;
      copied = digitsEnd;
    }
    return text + this.#slice(copied, end);
  }

  #slice(start: number, end: number): string {
    // Decoding ASCII as Latin-1 is fast. A non-ASCII character slows down only its own transaction.
    const isPlain = this.#scan.isAscii || isAscii(this.#bytes.subarray(start, end));
    return this.#bytes.toString(isPlain ? 'latin1' : 'utf8', start, end);
  }
}

const numberedMark = /^\u007f(\d{1,9})\u007f/;

/** Returns a mark with the lowest number that no text in the value has. */
function findFreeMark(value: unknown): string {
  const taken = new Set<number>();
  const visit = (part: unknown): void => {
    if (typeof part === 'string') {
      const match = part.charCodeAt(0) === markCode ? numberedMark.exec(part) : null;
      if (match !== null) taken.add(Number(match[1]));
    } else if (typeof part === 'object' && part !== null) {
      for (const member of Array.isArray(part) ? part : Object.values(part)) visit(member);
    }
  };
  visit(value);
  let free = 0;
  while (taken.has(free)) free++;
  return `${plainMark}${free}${plainMark}`;
}

/** Returns the index of the first pair that starts at or after `position`. */
function firstAtOrAfter(pairs: Uint32Array, position: number): number {
  let low = 0;
  let high = pairs.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pairs[middle * 2] as number) < position) low = middle + 1;
    else high = middle;
  }
  return low * 2;
}

const code = { comma: 0x2c, minus: 0x2d, point: 0x2e, zero: 0x30, e: 0x65, caseBit: 0x20 } as const;
/** The characters before a value: white space, `[`, `,` and `:`. */
const valueStarts = new Set([0x20, 0x09, 0x0a, 0x0d, 0x5b, 0x2c, 0x3a]);

/** Returns the start of the integer with these digits, including its sign; -1 if the digits are part of something else. */
function integerStart(bytes: Uint8Array, digits: number, end: number): number {
  const next = bytes[end];
  if (next === code.point || (next !== undefined && (next | code.caseBit) === code.e)) return -1;
  // A leading zero is not JSON. The digits are not quoted, so that the parser rejects them.
  if (bytes[digits] === code.zero) return -1;
  const start = bytes[digits - 1] === code.minus ? digits - 1 : digits;
  const before = bytes[start - 1];
  return before === undefined || valueStarts.has(before) ? start : -1;
}

let scanner: JsonScanner | undefined;

/** Scans JSON bytes with the kernel of this thread. */
export function scanJson(bytes: Uint8Array, depthMax: number): JsonScan {
  scanner ??= new JsonScanner(loadKernel<ScanExports>('scan'));
  return scanner.scan(bytes, depthMax);
}
