import { type Logger, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Fields, not sentences; never a body, a key or an address of a source. One JSON object a line, but for a person at a
 * terminal.
 */
export async function createLog(level: LogLevel, out: NodeJS.WritableStream): Promise<Logger> {
  const options = { level, base: null };
  const isTerminal = (out as { isTTY?: boolean }).isTTY === true;
  if (!isTerminal) return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, out);
  // Loaded for those who look: it is dozens of files.
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', destination: out }));
}
