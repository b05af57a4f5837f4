import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Fields, not sentences; never a body, a key or an address of a source. One JSON object a line, but for a person at a
 * terminal.
 */
export function createLog(level: LogLevel, out: NodeJS.WritableStream): Logger {
  const options = { level, base: null };
  const isTerminal = (out as { isTTY?: boolean }).isTTY === true;
  if (!isTerminal) return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, out);
  return pino(options, pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', destination: out }));
}
