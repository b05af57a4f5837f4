/**
 * What a raw log line is. Lines are matched whole, and their texts may hold line breaks of any sort.
 *
 *   Program ID invoke [n]                          invoke
 *   Program ID success                             success
 *   Program ID failed: text                        failed
 *   Program log: text                              log
 *   Program data: text                             data
 *   Program ID consumed a of b compute units       consumed
 *   Log truncated                                  mark
 *   anything else                                  other
 *
 * ID is 32 to 44 characters of base58. Programs print only `log`, `data` and `return` lines, each with its prefix, so a
 * text that imitates another class stays inside its own.
 */
import { isBase58 } from '../../base/base58.ts';

export const lineClass = {
  log: 0,
  data: 1,
  other: 2,
  consumed: 3,
  invoke: 4,
  success: 5,
  failed: 6,
  mark: 7,
  end: 8,
} as const;
export type LineClass = (typeof lineClass)[keyof typeof lineClass];

/** Where the text of a `log` and of a `data` line begins, and the ID of the others. */
export const logTextStart = 'Program log: '.length;
export const dataTextStart = 'Program data: '.length;
export const idStart = 'Program '.length;
export const failedTextOffset = ' failed: '.length;
const consumedOffset = ' consumed '.length;
const idLengthMin = 32;
const idLengthMax = 44;
const unitsMax = '18446744073709551615';

/** `likely` is a program whose ID is known to be one; naming the open frame's saves looking at each character. */
export function classifyLine(line: string, likely: string): LineClass {
  if (!line.startsWith('Program ')) {
    return line === 'Log truncated' ? lineClass.mark : lineClass.other;
  }
  if (line.startsWith('log: ', idStart)) return lineClass.log;
  if (line.charCodeAt(idStart + 4) === 0x3a && line.startsWith('data: ', idStart)) {
    return lineClass.data;
  }
  const idEnd = line.indexOf(' ', idStart);
  const idLength = idEnd - idStart;
  if (idLength < idLengthMin || idLength > idLengthMax) return lineClass.other;
  const isKnown = idLength === likely.length && line.startsWith(likely, idStart);
  if (!isKnown && !isBase58(line.slice(idStart, idEnd))) return lineClass.other;
  return classifyAfterId(line, idEnd);
}

function classifyAfterId(line: string, idEnd: number): LineClass {
  switch (line.charCodeAt(idEnd + 1)) {
    case 0x69:
      return readDepth(line, idEnd) < 0 ? lineClass.other : lineClass.invoke;
    case 0x73:
      return line.length === idEnd + ' success'.length && line.endsWith(' success')
        ? lineClass.success
        : lineClass.other;
    case 0x66:
      return line.startsWith(' failed: ', idEnd) ? lineClass.failed : lineClass.other;
    case 0x63:
      return isConsumed(line, idEnd) ? lineClass.consumed : lineClass.other;
    default:
      return lineClass.other;
  }
}

/** The n of `invoke [n]`; -1 if the line does not go on like that. */
export function readDepth(line: string, idEnd: number): number {
  if (!line.startsWith(' invoke [', idEnd) || line.charCodeAt(line.length - 1) !== 0x5d) return -1;
  const start = idEnd + ' invoke ['.length;
  const end = line.length - 1;
  if (digitsEnd(line, start) !== end || end === start) return -1;
  return Number(line.slice(start, end));
}

/** Whether the line goes on `consumed a of b compute units`, with an a of 64 bits. */
function isConsumed(line: string, idEnd: number): boolean {
  if (!line.startsWith(' consumed ', idEnd)) return false;
  const start = idEnd + consumedOffset;
  const end = digitsEnd(line, start);
  const length = end - start;
  if (length === 0 || length > unitsMax.length || !line.startsWith(' of ', end)) return false;
  if (length === unitsMax.length && line.slice(start, end) > unitsMax) return false;
  const limitStart = end + ' of '.length;
  const limitEnd = digitsEnd(line, limitStart);
  return (
    limitEnd > limitStart &&
    line.length === limitEnd + ' compute units'.length &&
    line.endsWith(' compute units')
  );
}

/** The a of a line of class `consumed`. */
export function readUnits(line: string, idEnd: number): bigint {
  const start = idEnd + consumedOffset;
  const end = digitsEnd(line, start);
  if (end - start > 15) return BigInt(line.slice(start, end));
  let units = 0;
  for (let i = start; i < end; i++) units = units * 10 + (line.charCodeAt(i) - 0x30);
  return BigInt(units);
}

function digitsEnd(line: string, start: number): number {
  let end = start;
  for (; end < line.length; end++) {
    const code = line.charCodeAt(end);
    if (code < 0x30 || code > 0x39) break;
  }
  return end;
}
