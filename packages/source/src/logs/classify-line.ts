/**
 * Classifies raw log lines. Lines are matched as a whole, and their texts may contain line breaks.
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
 * ID is 32 to 44 characters of base58. Programs can only print `log`, `data` and `return` lines, which have a prefix, so a program
 * cannot imitate another class.
 */
import { isBase58 } from '@sluice/base/base58';

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

/** The start of the text in `log` and `data` lines, and of the ID in the others. */
export const logTextStart = 'Program log: '.length;
export const dataTextStart = 'Program data: '.length;
export const idStart = 'Program '.length;
export const failedTextOffset = ' failed: '.length;
const consumedOffset = ' consumed '.length;
const idLengthMin = 32;
const idLengthMax = 44;
const unitsMax = '18446744073709551615';

/** `likely` is a valid program ID. If the line contains it, the characters of the ID need not be checked. */
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

/** Returns the n of `invoke [n]`; -1 if the line does not continue like that. */
export function readDepth(line: string, idEnd: number): number {
  if (!line.startsWith(' invoke [', idEnd) || line.charCodeAt(line.length - 1) !== 0x5d) return -1;
  const start = idEnd + ' invoke ['.length;
  const end = line.length - 1;
  if (digitsEnd(line, start) !== end || end === start) return -1;
  return Number(line.slice(start, end));
}

/** Returns whether the line continues with `consumed a of b compute units`, where a has at most 64 bits. */
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

/** Returns the a of a line of class `consumed`. */
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
