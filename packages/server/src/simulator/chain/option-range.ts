import { CodedError } from '../../base/errors.ts';

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly integer: boolean;
}

/** Refuses a value outside its range with the option's name and what is expected. */
export function checkOption(option: string, found: number, { min, max, integer }: Range): void {
  const isNumber = integer ? Number.isSafeInteger(found) : Number.isFinite(found);
  if (isNumber && found >= min && found <= max) return;
  const expected = `${integer ? 'an integer' : 'a number'} from ${min} to ${max}`;
  throw new CodedError('simulator-option-invalid', { option, found, expected });
}
