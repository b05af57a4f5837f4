import { isTerminal, usesColor } from '@sluice/base/terminal';
import { type Logger, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Creates the log: one JSON object per line, or readable lines on a terminal. Entries have fields, and never contain a request body,
 * a key or the address of a source.
 */
export async function createLog(level: LogLevel, out: NodeJS.WritableStream): Promise<Logger> {
  const options = { level, base: null };
  if (!isTerminal(out)) return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, out);
  // Loaded on demand, because it has dozens of files.
  const { default: pretty } = await import('pino-pretty');
  const colorize = usesColor(out);
  return pino(options, pretty({ colorize, translateTime: 'SYS:HH:MM:ss', destination: out }));
}
