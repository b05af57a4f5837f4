import { parseSlot, type Slot } from '@sluice/ledger/primitives';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { InvalidArgumentError } from 'commander';
import { parseRetention } from '../app/config/parse-retention.ts';

export interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly integer: boolean;
}

/** A parser of the value of an option. Commander adds the option and the value to its errors. */
export type OptionParser<Value> = (text: string) => Value;

export function numberOption(range: NumberRange): OptionParser<number> {
  return (text) => {
    const value = /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    const isWhole = !range.integer || Number.isSafeInteger(value);
    if (isWhole && value >= range.min && value <= range.max) return value;
    const kind = range.integer ? 'an integer' : 'a number';
    throw new InvalidArgumentError(`Expected ${kind} from ${range.min} to ${range.max}.`);
  };
}

export function slotOption(text: string): Slot {
  const slot = /^\d+$/.test(text) ? parseSlot(Number(text)) : undefined;
  if (slot === undefined) throw new InvalidArgumentError('Expected a slot: a whole number.');
  return slot;
}

export function datasetNameOption(text: string): string {
  if (datasetNamePattern.test(text)) return text;
  throw new InvalidArgumentError(
    'Expected 1 to 64 characters of a-z, 0-9 and -, not starting with -.',
  );
}

export const portOption = numberOption({ min: 0, max: 65_535, integer: true });

/** Returns the unix seconds of a date (at midnight) or a time, in UTC unless it contains another zone. */
export function dateOption(text: string): number {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?$/.test(text);
  const hasZone = isDate || /(Z|[+-]\d{2}:\d{2})$/.test(text);
  const ms = isDate || isTime ? Date.parse(hasZone ? text : `${text}Z`) : Number.NaN;
  if (ms >= 0 && isDay(text.slice(0, 10))) return Math.floor(ms / 1000);
  throw new InvalidArgumentError(
    'Expected a date that exists, from 1970 on, such as 2026-01-31 or 2026-01-31T12:00:00Z.',
  );
}

/** Rejects dates that do not exist: the runtime's parser takes 31 February for 3 March. */
function isDay(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}

export function retentionOption(text: string): string {
  if (parseRetention(text) !== undefined) return text;
  throw new InvalidArgumentError(
    'Expected all, or a number of blocks (100000), days (7d) or bytes (50GB; KB, MB, GB, TB), 1 or more.',
  );
}
