import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogOptions {
  readonly level: LogLevel;
  /** For a person at a terminal; else one JSON object a line. */
  readonly isPretty: boolean;
}

/** Fields, not sentences; never a body, a key or an address of a source. */
export function createLog({ level, isPretty }: LogOptions, out: NodeJS.WritableStream): Logger {
  const options = { level, base: null };
  if (!isPretty) return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, out);
  const stream = pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', destination: out });
  return pino(options, stream);
}
