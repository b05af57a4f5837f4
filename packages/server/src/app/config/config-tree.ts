import type { CodedError } from '../../base/errors.ts';

/** A configuration before it is checked: plain values, and of each where it stands in the file it came from. */
export interface ConfigTree {
  readonly value: unknown;
  /** By path, `datasets[0].sources[1].url`. Empty where there is no file. */
  readonly places: ReadonlyMap<string, ConfigPlace>;
  /** Variables that are not set and anchors that are not there, by `key` where they were named; the value there means nothing. */
  readonly unset: readonly CodedError[];
}

export interface ConfigPlace {
  readonly line: number;
  /** The text as the file has it, where variables were put in. It may be shown; what was put in may not. */
  readonly template?: string;
}

/** What a refusal says of where; the whole file has no key. */
export function keyOf(path: string): { key?: string } {
  return path === '' ? {} : { key: path };
}

/** The path of a key, or of an item, below another. */
export function pathBelow(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  return path === '' ? step : `${path}.${step}`;
}
