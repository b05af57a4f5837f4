/** What a stream shows its output to: a person at a terminal, or a program behind a pipe. */
import { env as processEnv } from 'node:process';

type Environment = Readonly<Record<string, string | undefined>>;

export function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}

/** Columns of a terminal; where that is unknown, what most terminals have. */
export function widthOf(stream: NodeJS.WritableStream): number {
  const columns = 'columns' in stream ? stream.columns : undefined;
  return typeof columns !== 'number' || columns <= 0 ? 80 : columns;
}

/**
 * Whether to colour the output: on a terminal that can show it, unless `NO_COLOR` is set (https://no-color.org). `FORCE_COLOR`
 * colours output that goes elsewhere too; `FORCE_COLOR=0` is the same as `NO_COLOR`.
 */
export function usesColor(stream: NodeJS.WritableStream, env: Environment = processEnv): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const forced = env['FORCE_COLOR'] ?? '';
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal(stream) && env['TERM'] !== 'dumb';
}

const codes = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;

export type Style = keyof typeof codes;

/** Returns a function that styles text, or leaves it alone where colours are off. */
export function styler(isColored: boolean): (style: Style, text: string) => string {
  if (!isColored) return (_style, text) => text;
  return (style, text) => `\x1b[${codes[style]}m${text}\x1b[0m`;
}

/** Text of a ledger may hold control characters, which a terminal would obey. */
export function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to replace
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
}
