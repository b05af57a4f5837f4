/** Parts of the configuration schema that several files use. */
import Type, { type TSchemaOptions } from 'typebox';

/** Annotations of the schema for our own reader and printer. */
export interface Annotations {
  readonly description: string;
  /** The expected value in words, for the documentation and for errors, where the pattern is unreadable. */
  readonly expected?: string;
  /** The value is a path; a relative one is relative to the folder of the file. */
  readonly path?: true;
  /** The value may contain a secret. Of a URL only the origin is shown, of a value nothing. */
  readonly secret?: 'url' | 'value';
  /** The default in words, for the documentation, where it depends on the machine. */
  readonly defaultText?: string;
}

export function count(
  description: string,
  value: number,
  range: { min?: number; max?: number } = {},
) {
  const { min = 1, max = 1_000_000_000 } = range;
  return Type.Integer({ minimum: min, maximum: max, default: value, description });
}

export function choice<const Values extends readonly string[]>(
  values: Values,
  options: TSchemaOptions,
) {
  return Type.Unsafe<Values[number]>(Type.Enum(values, options));
}
