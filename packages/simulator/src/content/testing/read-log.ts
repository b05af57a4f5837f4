import type { LogRecorder, LogRole } from '../machine/log-recorder.ts';
import {
  type AmountList,
  HEADER_BYTES,
  type PooledText,
  type TextPool,
} from '../text/text-pool.ts';
import { readAmounts } from './read-pool.ts';

const CODE_MASK = 7;
const NUMBER_CODE = 1;
const BASE64_CODE = 6;
const AMOUNT_CODE = 7;

export interface LogLine {
  readonly role: LogRole;
  readonly text: string;
  /** The index of the call that printed the line, in execution order; -1 for the truncation mark. */
  readonly caller: number;
}

/** Returns the lines of a log as texts. */
export function readLog(pool: TextPool, log: LogRecorder): LogLine[] {
  return Array.from({ length: log.lineCount }, (_, i) => ({
    role: log.roles[i] as LogRole,
    text: log.raw.get(i) ?? readLine(pool, log, i),
    caller: log.callers[i] as number,
  }));
}

function readLine(pool: TextPool, log: LogRecorder, line: number): string {
  const isLast = line + 1 === log.lineCount;
  const end = isLast ? log.orderCount - 1 : (log.starts[line + 1] as number);
  let text = '';
  for (let i = (log.starts[line] as number) + 1; i < end; i++) {
    const order = log.orders[i] as number;
    const code = order & CODE_MASK;
    const offset = order - code;
    if (code === NUMBER_CODE) text += order >>> 3;
    else if (code === BASE64_CODE) text += readBytes(pool, offset).toString('base64');
    else if (code === AMOUNT_CODE) {
      text += readAmounts(pool, offset as AmountList)[0];
      i++;
    } else text += pool.read(order as PooledText);
  }
  return text;
}

function readBytes(pool: TextPool, offset: number): Buffer {
  const start = offset + HEADER_BYTES;
  return pool.bytes.subarray(start, start + (pool.words[offset >> 2] as number));
}
