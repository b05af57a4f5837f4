import { type Logger, pino } from 'pino';
import { isTerminal, usesColor } from '../base/terminal.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Fields, not sentences; never a body, a key or an address of a source. One JSON object a line, but for a person at a
 * terminal.
 */
export async function createLog(level: LogLevel, out: NodeJS.WritableStream): Promise<Logger> {
  const options = { level, base: null };
  if (!isTerminal(out)) return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, out);
  // Loaded for those who look: it is dozens of files.
  const { default: pretty } = await import('pino-pretty');
  const colorize = usesColor(out);
  return pino(options, pretty({ colorize, translateTime: 'SYS:HH:MM:ss', destination: out }));
}
