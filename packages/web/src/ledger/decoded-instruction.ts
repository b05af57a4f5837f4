/** What the page shows of a decoded instruction. */
import type { DecodedArgument, DecodedValue } from '@sluice/client';

/** A name and its value as text. */
export type ShownValue = readonly [name: string, text: string];

export interface ShownEvent {
  readonly name: string;
  readonly values: readonly ShownValue[];
}

/** Returns the names of the accounts, in the order in which they were passed. */
export function accountNames(
  decoded: DecodedValue,
  accounts: readonly string[],
  programId: string,
): readonly string[] {
  const names: string[] = [];
  for (const [name, address] of Object.entries(decoded.accounts ?? {})) {
    // An optional account that is absent is not passed, or the program is passed instead of it.
    if (address !== null || accounts[names.length] === programId)
      names.push(name.replaceAll('_', ' '));
  }
  return names;
}

export function shownArguments({ args = {} }: DecodedValue): readonly ShownValue[] {
  return Object.entries(args).map(([name, value]) => [name, showValue(value)]);
}

export function shownEvents({ events = [] }: DecodedValue): readonly ShownEvent[] {
  return events.map((event) => ({
    name: event.name ?? 'unknown event',
    values: event.error === undefined ? shownArguments(event) : [['error', event.error]],
  }));
}

/** A decoded instruction or event in one line. */
export interface DecodedLine {
  /** The name in the IDL of the program. */
  readonly program: string;
  readonly name: string;
  /** The arguments and the names of the events, or why the data is not decoded. */
  readonly text: string;
}

export function decodedLine(decoded: DecodedValue): DecodedLine {
  const { program, name, error } = decoded;
  const values = shownArguments(decoded).map(([label, text]) => `${label} ${text}`);
  const events = shownEvents(decoded).map((event) => `→ ${event.name}`);
  return {
    program: program ?? 'no IDL',
    name: name ?? 'unknown',
    text: error ?? [values.join(', '), ...events].filter((part) => part !== '').join(' '),
  };
}

/** Numbers and texts are shown as they are, everything else as JSON. */
function showValue(value: DecodedArgument): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
