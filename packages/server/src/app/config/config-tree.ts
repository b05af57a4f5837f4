import type { CodedError } from '../../base/errors.ts';

/** A configuration before it is checked: plain values, and of each where it stands in the file it came from. */
export interface ConfigTree {
  readonly value: unknown;
  /** By path, `datasets[0].sources[1].url`. Empty where there is no file. */
  readonly places: ReadonlyMap<string, ConfigPlace>;
  /** Variables that are not set, by `key` where they were named; the value there means nothing. */
  readonly unset: readonly CodedError[];
}

export interface ConfigPlace {
  readonly line: number;
  /** The text as the file has it, where variables were put in. It may be shown; what was put in may not. */
  readonly template?: string;
}

/** The path of a key, or of an item, below another. */
export function pathBelow(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  return path === '' ? step : `${path}.${step}`;
}
