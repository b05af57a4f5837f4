export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | JsonFloat
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A number that a node stores as a 64-bit float and writes with a decimal point or an exponent, even if it is whole. */
export class JsonFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  toString(): string {
    if (this.value >= 1e16) return this.value.toExponential().replace('+', '');
    return Number.isInteger(this.value) ? `${this.value}.0` : String(this.value);
  }
}

/** Returns JSON like a node's: every digit of a 64-bit integer, without quotes. */
export function writeJson(value: Json): string {
  if (typeof value === 'bigint' || value instanceof JsonFloat) return value.toString();
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}:${writeJson(one)}`,
  );
  return `{${members.join(',')}}`;
}
