/**
 * `JSON.parse` over bytes, with every digit kept and everything refused that would be changed in silence: text that is
 * not UTF-8, halves of surrogate pairs, nesting without end.
 *
 * An integer of 16 digits or more may not fit a JavaScript number, so it is quoted before the parse. A mark in front, the
 * character U+007F, tells it from a text that was quoted by the source:
 *
 *   {"fee":18446744073709551615}  ─►  {"fee":"␡18446744073709551615"}
 */
import { isUtf8 } from 'node:buffer';
import { scanJson } from './scan-json.ts';

/** First character of the text that stands for a long integer. */
export const integerMark = 0x7f;

export type JsonRefusal = 'not-utf8' | 'lone-surrogate' | 'too-deep' | 'not-json';

export type ExactJson =
  | {
      readonly kind: 'parsed';
      readonly value: unknown;
      /** Whether a text of the source may look like a marked integer; where it matters the value is refused. */
      readonly isMarkAmbiguous: boolean;
    }
  | { readonly kind: 'refused'; readonly reason: JsonRefusal };

export function parseExactJson(bytes: Uint8Array, depthMax: number): ExactJson {
  const scan = scanJson(bytes, depthMax);
  if (scan.isTooDeep) return { kind: 'refused', reason: 'too-deep' };
  if (!scan.isAscii && !isUtf8(bytes)) return { kind: 'refused', reason: 'not-utf8' };
  if (scan.hasLoneSurrogate) return { kind: 'refused', reason: 'lone-surrogate' };
  const quoted = scan.digitRuns.length === 0 ? bytes : quoteIntegers(bytes, scan.digitRuns);
  const buffer = Buffer.from(quoted.buffer, quoted.byteOffset, quoted.byteLength);
  // Taking ASCII as Latin-1 is a plain copy.
  const text = scan.isAscii ? buffer.toString('latin1') : buffer.toString('utf8');
  try {
    return { kind: 'parsed', value: JSON.parse(text), isMarkAmbiguous: scan.hasDelete };
  } catch {
    return { kind: 'refused', reason: 'not-json' };
  }
}

const code = { quote: 0x22, minus: 0x2d, point: 0x2e, zero: 0x30, e: 0x65, caseBit: 0x20 } as const;
/** What may stand before a value: white space, `[`, `,` and `:`. */
const valueStarts = new Set([0x20, 0x09, 0x0a, 0x0d, 0x5b, 0x2c, 0x3a]);

function quoteIntegers(bytes: Uint8Array, runs: readonly number[]): Uint8Array {
  const quoted = new Uint8Array(bytes.length + (runs.length / 2) * 3);
  let copied = 0;
  let length = 0;
  for (let i = 0; i < runs.length; i += 2) {
    const end = runs[i + 1] as number;
    const start = integerStart(bytes, runs[i] as number, end);
    if (start < 0) continue;
    quoted.set(bytes.subarray(copied, start), length);
    length += start - copied;
    quoted[length++] = code.quote;
    quoted[length++] = integerMark;
    quoted.set(bytes.subarray(start, end), length);
    length += end - start;
    quoted[length++] = code.quote;
    copied = end;
  }
  quoted.set(bytes.subarray(copied), length);
  return quoted.subarray(0, length + bytes.length - copied);
}

/** Where the integer with these digits begins, its sign included; -1 if they are part of something else. */
function integerStart(bytes: Uint8Array, digits: number, end: number): number {
  const next = bytes[end];
  if (next === code.point || (next !== undefined && (next | code.caseBit) === code.e)) return -1;
  // No JSON: left bare, so that the parser refuses it.
  if (bytes[digits] === code.zero) return -1;
  const start = bytes[digits - 1] === code.minus ? digits - 1 : digits;
  const before = bytes[start - 1];
  return before === undefined || valueStarts.has(before) ? start : -1;
}
