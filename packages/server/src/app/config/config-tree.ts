import type { CodedError } from '@sluice/base/errors';

/** A configuration before it is checked: plain values with their positions in the file. */
export interface ConfigTree {
  readonly value: unknown;
  /** The positions by path, such as `datasets[0].sources[1].url`. Empty without a file. */
  readonly origins: ReadonlyMap<string, ConfigOrigin>;
  /** Unset variables and missing anchors, with the `key` that refers to them. The value of the key has no meaning. */
  readonly unset: readonly CodedError[];
}

export interface ConfigOrigin {
  readonly line: number;
  /** The original text of a value with variables. It may be shown, unlike the values of the variables. */
  readonly template?: string;
}

/** Returns the position for an error. The whole file has no key. */
export function keyOf(path: string): { key?: string } {
  return path === '' ? {} : { key: path };
}

/** Returns the path of a key or of an item below another path. */
export function pathBelow(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  return path === '' ? step : `${path}.${step}`;
}
